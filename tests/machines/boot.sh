#!/bin/bash
# Boots a systemd as PID 1 of namespaces of its own, and clears everything away at the end.
#
#   boot.sh NAME ROOT STAGE
#
#   NAME    of the machine: its cgroup's name, unique on this host
#   ROOT    a root file system (tests/roots.sh); it stays as it is, an overlay on a tmpfs takes the writes
#   STAGE   a directory of the caller's; STAGE/files is copied over the root before the boot, the rest is
#           this script's; removed at the end
#
# Prints `pid N`, PID 1's number as the caller sees it, and then waits for the end of standard input: the
# caller holds the other side, so however it ends (Ctrl-C and SIGKILL too), the machine ends with it.
# All mounts are in the machine's own namespace and go with it; the cgroup and STAGE are removed here.
set -euo pipefail

# --- on the host ------------------------------------------------------------------------------------

keep() { # NAME ROOT STAGE
    export name=$1 root=$2 stage=$3 cgroup
    # Only the caller decides about the end: a Ctrl-C goes to the whole foreground process group.
    trap '' INT TERM HUP
    make_cgroup
    # setpriv: if this script is killed, the machine goes all the same.
    setpriv --pdeathsig KILL unshare --pid --fork --kill-child -- "$0" --enter </dev/null &
    unshare=$!
    cat >/dev/null || true # until the caller closes its side
    clear_away
}

# The machine's cgroup, in the one cgroup2 mount: /sys/fs/cgroup, or /sys/fs/cgroup/unified beside the
# v1 hierarchies.
make_cgroup() {
    local unified own above controller
    unified=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
    [ -n "$unified" ] || { echo "no cgroup2 hierarchy is mounted on this host" >&2; exit 1; }
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    above="$unified${own%/}"
    if [ -n "${COPSE_BOOT_SCOPE:-}" ]; then
        # Controllers can only be handed down by a cgroup without processes of its own.
        mkdir -p "$above/keeper"
        echo 0 >"$above/keeper/cgroup.procs"
    fi
    cgroup="$above/$name"
    mkdir "$cgroup"
    for controller in $(cat "$above/cgroup.controllers"); do
        # Not all can be handed down everywhere; the machine runs without, too.
        { echo "+$controller" >"$above/cgroup.subtree_control"; } 2>/dev/null || true
    done
}

clear_away() {
    local _
    kill -KILL "$unshare" 2>/dev/null || true
    wait "$unshare" 2>/dev/null || true
    # The kernel lets go of the last processes a moment after the kill.
    for _ in {1..100}; do
        find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null || true
        [ -d "$cgroup" ] || break
        sleep 0.05
    done
    rm -rf --one-file-system "$stage"
    [ ! -d "$cgroup" ] || { echo "the cgroup $cgroup can't be removed" >&2; exit 1; }
}

# --- in the new PID namespace -----------------------------------------------------------------------

enter() {
    trap - INT TERM HUP
    echo 0 >"$cgroup/cgroup.procs" # before the cgroup namespace is made: this becomes its root
    local pid
    read -r pid _ </proc/self/stat # /proc is still the caller's, and so is the number it tells
    echo "pid $pid"
    exec unshare --mount --uts --ipc --net --cgroup --propagation=private -- "$0" --become-init
}

# --- in all of the new namespaces -------------------------------------------------------------------

become_init() {
    mkdir "$stage/machine"
    mount -t tmpfs -o mode=755 copse-machine "$stage/machine"
    cd "$stage/machine"
    mkdir upper work root
    mount -t overlay -o "lowerdir=$root,upperdir=upper,workdir=work" copse-root root
    cp -a "$stage/files/." root
    cd root
    mount_kernel_file_systems
    hostname copse-test
    # The host's mounts leave this namespace; what stays is the root and what was mounted on it.
    pivot_root . .
    umount -l .
    cd /
    # As a container manager leaves it. systemd makes a unit's credentials in a mount namespace beside its own
    # and relies on the mount coming back to it; in a container it doesn't set that up itself.
    chroot . mount --make-rshared /
    # `lo` has to be up before anything binds to it.
    chroot . ip link set lo up
    exec env -i container=copse-test \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot . /lib/systemd/systemd --system --show-status=no >/dev/null 2>&1
}

mount_kernel_file_systems() { # in the root
    local device
    mount -t proc -o nosuid,noexec,nodev proc proc
    # The host's kernel isn't this machine's to set: read-only but for its own network's settings.
    mount --bind proc/sys proc/sys
    mount --bind proc/sys/net proc/sys/net
    mount -o remount,bind,ro proc/sys
    mount -t sysfs -o nosuid,noexec,nodev,ro sysfs sys
    mount -t cgroup2 -o nosuid,noexec,nodev cgroup2 sys/fs/cgroup
    mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs run
    mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs tmp
    mount -t tmpfs -o nosuid,mode=755 tmpfs dev
    for device in null zero full random urandom tty kmsg; do
        [ -e "/dev/$device" ] || continue
        : >"dev/$device"
        mount --bind "/dev/$device" "dev/$device"
    done
    if [ -e proc/sysrq-trigger ]; then
        mount --bind dev/null proc/sysrq-trigger
    fi
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
    mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs dev/shm
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    ln -s /proc/self/fd/0 dev/stdin
    ln -s /proc/self/fd/1 dev/stdout
    ln -s /proc/self/fd/2 dev/stderr
}

case $1 in
    --enter) enter ;;
    --become-init) become_init ;;
    *)
        # Where the host's PID 1 is a systemd, the cgroup tree is its own, and a piece of it is asked for:
        # a delegated scope, in which this script runs from then on.
        if [ -d /run/systemd/system ] && [ -z "${COPSE_BOOT_SCOPE:-}" ]; then
            export COPSE_BOOT_SCOPE=1
            exec systemd-run --scope --quiet --collect --unit="$1" --property=Delegate=yes -- "$0" "$@"
        fi
        keep "$@"
        ;;
esac
