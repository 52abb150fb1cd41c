#!/bin/bash
# Makes the Debian root file systems that the booted tests run in, one per version of systemd,
# and keeps them in a cache outside the checkout.
#
#   tests/roots.sh SUITE…         makes what is missing; prints the directory of each, one a line
#   tests/roots.sh                all suites
#   tests/roots.sh podman rivals  two more, for `make bench`, on Debian 13: podman's generator; s6 and supervisord
#   tests/roots.sh knot           one more, for `make bench-knot`, on Debian testing: Knot Resolver 6
#   tests/roots.sh fleet fleet-controller  two more, for tests/booted/fleet.rs: the machines of a fleet, on Debian 13; and
#                                 a controller with the ansible-core of Debian 12
#   tests/roots.sh packaging      one more, for `make package-test`, on Debian testing: what builds and checks packages
#   tests/roots.sh --clean        removes the whole cache
#
#   COPSE_ROOTS        the cache (default: ${XDG_CACHE_HOME:-/var/cache}/copse-roots)
#   COPSE_MIRROR       the Debian mirror (default: the one in the machine's own apt sources)
#
# A root is never changed once it is made: each booted machine lays an overlay over it. Its directory's
# name holds a hash of what it was made from, so a changed package list makes a new root and an older
# checkout still finds its own.
set -euo pipefail
umask 022
cd "$(dirname "$0")"

if [ "$(id -u)" != 0 ]; then
    exec sudo --preserve-env=COPSE_ROOTS,COPSE_MIRROR,XDG_CACHE_HOME,http_proxy,https_proxy,no_proxy,PIP_INDEX_URL,PIP_CERT \
        ./roots.sh "$@"
fi

suites=(bullseye bookworm trixie forky) # systemd 247, 252, 257, 262
cache="${COPSE_ROOTS:-${XDG_CACHE_HOME:-/var/cache}/copse-roots}"

die() {
    echo "tests/roots.sh: $*" >&2
    exit 1
}

# What the situations need inside. dbus-user-session is the bus of `systemd --user`; polkitd is only
# ever started by the bus, when someone who isn't root asks for something. wrk asks a web server without pause. ssh is
# for `copse --host`. debhelper and rpm make packages that have groups in them, as tests/booted/packagers.rs does. supervisor
# and foreman are asked what they read from the files that `copse import` reads.
packages() { # SUITE
    local common="systemd systemd-sysv dbus dbus-user-session procps iproute2 util-linux passwd"
    common+=" python3 openssl redis-server knot-dnsutils"
    case $1 in
        bullseye) echo "$common" ;;
        bookworm | trixie) echo "$common polkitd knot-resolver wrk openssh-server openssh-client debhelper rpm supervisor" ;;
        forky) echo "$common polkitd knot-resolver6 wrk openssh-server openssh-client needrestart debhelper rpm supervisor ruby-foreman" ;;
        podman) echo podman ;;
        # Every machine of a fleet has the same root; the first one is the controller.
        fleet)
            echo "systemd systemd-sysv dbus iproute2 util-linux passwd procps polkitd python3 openssh-server" \
                "openssh-client ansible-core haproxy clustershell systemd-journal-remote socat"
            ;;
        fleet-controller) echo "systemd systemd-sysv dbus iproute2 util-linux passwd procps python3 openssh-client ansible-core" ;;
        # A root of its own, whose files no other machine has in memory: shared pages count in parts.
        knot) echo "systemd systemd-sysv dbus iproute2 util-linux passwd procps polkitd python3 knot-resolver6" ;;
        # The archive's own toolchain, what makes packages for others, and what autopkgtest(1) needs.
        packaging)
            echo "build-essential fakeroot debhelper rustc cargo pkgconf systemd-dev lintian" \
                "rpm cpio makepkg pacman-package-manager libarchive-tools zstd groff-base" \
                "systemd systemd-sysv dbus iproute2 util-linux passwd autopkgtest fish zsh"
            ;;
        rivals) echo "systemd systemd-sysv dbus iproute2 util-linux python3 s6 supervisor" ;;
        *) die "\`$1\` is no suite that is tested; they are: ${suites[*]}" ;;
    esac
}

debian_suite() { # SUITE
    case $1 in
        podman | rivals | fleet) echo trixie ;;
        fleet-controller) echo bookworm ;;
        knot | packaging) echo forky ;;
        *) echo "$1" ;;
    esac
}

# honcho reads Procfiles, too, and is no package of Debian's: pip brings it, exactly that wheel.
honcho="honcho==2.0.0 --hash=sha256:56dcd04fc72d362a4befb9303b1a1a812cba5da283526fbc6509be122918ddf3"

# Debian 11 is installed with a merged /usr, but a root made from its packages alone isn't, and systemd would
# look for generators in /lib only. The links have to be there before the first package is unpacked.
extra_options() { # SUITE
    # shellcheck disable=SC2016 # expanded by the hook's shell
    case $1 in
        bullseye)
            echo '--setup-hook=for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done'
            ;;
        forky)
            echo "--customize-hook=echo '$honcho' | python3 -m pip --quiet install --require-hashes --no-deps" \
                '--no-compile --root-user-action ignore --requirement /dev/stdin --target "$1/usr/local/lib/honcho"'
            ;;
    esac
}

# The last step of the making. Nothing that a package brought starts by itself: a situation starts what
# it needs. An administrator's enablement and aliases are links below /etc/systemd/system.
customize() { # DIRECTORY
    local root=$1 uid
    find "$root/etc/systemd/system" -type l -delete
    find "$root/etc/systemd/system" -mindepth 1 -type d -empty -delete
    find "$root/usr/lib/systemd/system" -path '*.wants/*' \( -name 'kres*' -o -name 'knot-*' \) -delete
    rm -f "$root"/etc/rc?.d/*
    : >"$root/etc/machine-id"
    : >"$root/etc/fstab"
    printf '127.0.0.1 localhost copse-test\n::1 localhost\n' >"$root/etc/hosts"
    for uid in 2001 2002; do
        chroot "$root" useradd --uid $uid --user-group --create-home --shell /bin/sh u$uid
    done
    rm -rf "$root"/usr/share/{doc,man,locale}
}

keyring() {
    local file
    for file in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    return 1
}

# Packages that are missing on this machine, by what they bring.
install_prerequisites() {
    local want=()
    command -v mmdebstrap >/dev/null || want+=(mmdebstrap)
    command -v mount >/dev/null || want+=(mount) # a minimal Debian is without
    keyring >/dev/null || want+=(debian-archive-keyring)
    python3 -m pip --version >/dev/null 2>&1 || want+=(python3-pip)
    [ ${#want[@]} = 0 ] && return
    echo "tests/roots.sh: installing ${want[*]}" >&2
    apt-get -q update >&2
    DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${want[@]}" >&2
}

# The address of the machine's own Debian suite, as apt itself reads its sources (both formats).
apt_mirror() {
    # shellcheck disable=SC2016 # apt's own placeholder
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1
}

mirror() {
    local mirror=${COPSE_MIRROR:-$(apt_mirror)}
    if [ -z "$mirror" ]; then # apt knows a repository's label only once it fetched its lists
        apt-get -q update >&2
        mirror=$(apt_mirror)
    fi
    [ -n "$mirror" ] || die "apt's sources name no Debian mirror; set COPSE_MIRROR"
    echo "$mirror"
}

make_root() { # SUITE DIRECTORY
    local suite=$1 directory=$2 building=$2.building options proxy=""
    mapfile -t options < <(extra_options "$suite")
    # Roots are for tests and thrown away: an old suite whose Release file ran out is no reason to stop.
    options+=(--aptopt='Acquire::Check-Valid-Until "false"')
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -n "$proxy" ] && options+=(--aptopt="Acquire::http::Proxy \"$proxy\"")

    echo "tests/roots.sh: making $directory" >&2
    rm -rf --one-file-system "$building"
    mmdebstrap --quiet --mode=root --variant=minbase --components=main \
        --keyring="$(keyring)" --include="$(packages "$suite" | tr ' ' ',')" "${options[@]}" \
        --customize-hook="'$PWD/roots.sh' --customize \"\$1\"" \
        "$(debian_suite "$suite")" "$building" "$(mirror)" >&2
    mv -T "$building" "$directory" # whole, or not there
}

root() { # SUITE
    local suite=$1 hash directory
    hash=$(printf '%s\n' "$suite" "$(packages "$suite")" "$(extra_options "$suite")" "$(declare -f customize)" \
        "$(dpkg --print-architecture)" |
        sha256sum | cut -c 1-12)
    directory="$cache/$suite-$hash"
    if [ ! -d "$directory" ]; then
        mkdir -p "$cache"
        install_prerequisites
        (
            flock 9 # two makers at once: the second waits and finds it made
            [ -d "$directory" ] || make_root "$suite" "$directory"
        ) 9>"$cache/$suite.lock"
    fi
    echo "$directory"
}

case ${1:-} in
    --clean)
        rm -rf --one-file-system "$cache"
        exit
        ;;
    --customize) # called by mmdebstrap
        customize "$2"
        exit
        ;;
    -*) die "\`$1\` isn't an option; usage: tests/roots.sh [--clean | SUITE…]" ;;
esac
[ $# = 0 ] && set -- "${suites[@]}"
for suite; do
    packages "$suite" >/dev/null
done
for suite; do
    root "$suite"
done
