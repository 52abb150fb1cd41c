#!/usr/bin/python
# Copyright: the contributors of copse
# SPDX-License-Identifier: MIT OR Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
---
module: group
short_description: Install and apply a group file of copse
version_added: 0.1.0
description:
  - Installs the file and drop-ins of a group, and carries out with C(copse apply) what they change.
  - The files are checked with C(copse check) before any file on the host is replaced.
  - C(copse apply) updates instance by instance, and stops at the first unit that does not become ready.
author:
  - The contributors of copse (@copse-systemd)
requirements:
  - copse 0.1.0 or newer on the managed host
options:
  name:
    description:
      - The name of the group.
    type: str
    required: true
  content:
    description:
      - The text of the group file, installed as C(/etc/copse/NAME.toml).
      - Without O(content) and O(src), the group file stays as it is.
    type: str
  src:
    description:
      - The path of a file on the managed host that is installed as the group file.
    type: path
  drop_ins:
    description:
      - Drop-ins of the group file, in C(/etc/copse/NAME.toml.d). A key is the name of a file and ends in C(.toml), its
        value is the text. A drop-in without text is removed. Other drop-ins stay as they are.
    type: dict
    aliases: [drop_in]
  state:
    description:
      - V(applied) updates the group if it is active. A stopped group stays stopped.
      - V(started) also starts the group if it is not active.
      - V(stopped) stops the group.
      - V(restarted) also restarts the processes that did not have to be updated.
      - V(rolled_back) returns to the last complete apply with C(copse apply --rollback). The files stay as they are.
      - V(absent) stops the group, disables it, and removes its file and drop-ins from C(/etc/copse).
    type: str
    choices: [applied, started, stopped, restarted, rolled_back, absent]
    default: applied
  enabled:
    description:
      - Whether the group starts at boot, as C(copse enable) does it.
    type: bool
  canary:
    description:
      - Update one instance of each process first and watch it for this time, for example V(30s).
    type: str
  max_unavailable:
    description:
      - The number or percentage of instances of a process that may be down at the same time.
    type: str
  pause:
    description:
      - The delay between two batches of instances, for example V(5s).
    type: str
  wait:
    description:
      - Wait until another C(copse apply) of the group has ended. Without it, the task fails.
    type: bool
    default: false
  on_failure:
    description:
      - What happens if a unit does not become ready. The task fails in either case.
      - With V(hold), the new files stay. Units that were not reached stay pinned to what they run, so that the next apply
        continues.
      - With V(rollback), the previous files are installed and applied again. If they were edited without an apply,
        C(copse apply --rollback) returns to the last complete apply.
    type: str
    choices: [hold, rollback]
    default: hold
  force:
    description:
      - Apply the group also if a user has rolled it back or holds one of its processes. A held process stays stopped.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check mode, and returns what C(copse plan) shows.
    support: full
  diff_mode:
    description: Returns the differences of the files, and what C(copse plan --diff) shows.
    support: full
  platform:
    description: The operating systems that the module supports.
    platforms: posix
    support: full
notes:
  - A lost connection does not interrupt the module. It completes the apply, or the rollback, on its own.
seealso:
  - module: copse.systemd.group_info
"""

EXAMPLES = r"""
- name: Roll out the release, and go back if it fails
  copse.systemd.group:
    name: shop
    content: "{{ lookup('ansible.builtin.template', 'shop.toml.j2') }}"
    state: started
    canary: 30s
    on_failure: rollback

- name: Set what differs on this host
  copse.systemd.group:
    name: shop
    drop_ins:
      50-host.toml: |
        [process.web]
        instances = {{ web_instances }}

- name: Return to the release before
  copse.systemd.group:
    name: shop
    state: rolled_back
"""

RETURN = r"""
complete:
  description: Whether every change was carried out.
  returned: success and failure of an apply
  type: bool
  sample: true
held:
  description: The units that stay pinned to the definition they run, since the apply did not reach them.
  returned: success and failure of an apply
  type: list
  elements: str
  sample: [shop-web@2.service]
units:
  description: What was done with each unit, as in the JSON of C(copse apply).
  returned: when not in check mode
  type: list
  elements: dict
  sample:
    - name: web@1
      unit: shop-web@1.service
      action: restart
      result: ready
      error: null
      seconds: 1.049
plan:
  description: The steps of C(copse plan), in their order.
  returned: in check mode
  type: list
  elements: dict
  sample:
    - action: roll
      units: [web@1, web@2]
files:
  description: The files that differ from those of the task.
  returned: always
  type: list
  elements: str
  sample: [/etc/copse/shop.toml]
rolled_back:
  description: Whether O(on_failure=rollback) went back.
  returned: failure of an apply
  type: bool
verdict:
  description: The state of the group at the end, in one word.
  returned: success and failure of an apply
  type: str
  sample: active
"""

import os
import shutil
import signal
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.copse.systemd.plugins.module_utils import copse as lib

DIRECTORY = lib.DIRECTORIES[0]


class Group:
    """A group on this host, and what the task wants of it."""

    def __init__(self, module):
        self.module = module
        self.params = module.params
        self.name = self.params["name"]
        self._check_names()
        self.copse = lib.Copse(module)
        self.path = os.path.join(DIRECTORY, self.name + ".toml")
        self.folder = self.path + ".d"
        self.before = {}
        self.after = {}
        self._read_files()
        self.status = self.copse.status(self.name)
        self.was_current = False
        self.result = {"changed": False, "files": self.changed_files()}

    def _check_names(self):
        if not lib.GROUP_NAME.match(self.name):
            raise lib.Failed(
                "`%s` is not a group name; use letters, digits, `_`, `.` and `-`, with a letter or a digit first" % self.name
            )
        for name in self.params["drop_ins"] or {}:
            if not lib.DROP_IN_NAME.match(name):
                raise lib.Failed("`%s` is not the name of a drop-in; use a file name that ends in `.toml`" % name)
        given = [key for key in ("content", "src", "drop_ins") if self.params[key] is not None]
        if given and self.params["state"] in ("rolled_back", "absent"):
            raise lib.Failed("`%s` has no effect with `state: %s`; remove it" % (given[0], self.params["state"]))

    def _read_files(self):
        """Reads the texts of the files before and after, None for a file that does not exist."""
        wanted = {}
        if self.params["content"] is not None:
            wanted[self.path] = self.params["content"]
        elif self.params["src"] is not None:
            wanted[self.path] = lib.read_text(self.params["src"])
            if wanted[self.path] is None:
                raise lib.Failed("cannot read `%s`: it does not exist on this host" % self.params["src"])
        for name, text in (self.params["drop_ins"] or {}).items():
            wanted[os.path.join(self.folder, name)] = text if text is None else str(text)
        if self.params["state"] == "absent":
            names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
            wanted = {path: None for path in [self.path] + [os.path.join(self.folder, name) for name in names]}
        for path, text in sorted(wanted.items()):
            self.before[path] = lib.read_text(path)
            self.after[path] = text if not text or text.endswith("\n") else text + "\n"

    def changed_files(self):
        """Returns the paths of the files that are not as the task wants them."""
        return [path for path, text in self.after.items() if text != self.before[path]]

    # --- before anything is changed ---

    def candidate(self, directory):
        """Writes the files as they will be into a temporary directory, and returns the path of the group file."""
        path = os.path.join(directory, self.name + ".toml")
        text = self.after.get(self.path)
        if text is None:
            installed = lib.installed_file(self.name)
            text = installed and lib.read_text(installed)
        if text is None:
            raise lib.Failed("group `%s` has no file on this host; set `content` or `src`" % self.name)
        write(path, text)
        for drop_in, text in self.after.items():
            if drop_in == self.path:
                continue
            os.makedirs(path + ".d", exist_ok=True)
            copy = os.path.join(path + ".d", os.path.basename(drop_in))
            if text is None:
                os.symlink("/dev/null", copy)
            else:
                write(copy, text)
        return path

    def check(self, candidate):
        """Refuses files with a mistake, with the line and the fix."""
        status, out, err = self.copse.run("check", "--as", self.name, "--color=never", candidate)
        if status == lib.DONE:
            return
        text = out.replace(candidate, self.path).strip() or lib.message(err)
        problem = "the group file has an error, no file was replaced" if status == lib.INVALID else "copse check failed"
        raise lib.Failed("%s:\n%s" % (problem, text))

    def refuse_what_a_user_decided(self):
        """Refuses a group that was rolled back or of which a process is held."""
        if self.params["force"] or self.params["state"] in ("stopped", "rolled_back", "absent") or not self.status:
            return
        if self.status["rolled_back"]:
            raise lib.Failed(
                "group `%s` is rolled back, and an apply would end that; set `force: true` to apply it" % self.name
            )
        held = lib.held_processes(self.name)
        if held:
            names = ", ".join("`%s/%s`" % (self.name, process) for process in held)
            raise lib.Failed("a user holds %s; run `copse release`, or set `force: true` to keep it stopped" % names)

    def plan(self, candidate):
        """Returns what copse plan shows for the files as they will be."""
        status, plans, error = self.copse.objects("plan", "--json", "--as", self.name, candidate)
        if status != lib.DONE or not plans:
            raise lib.Failed("cannot plan group `%s`: %s" % (self.name, error))
        return plans[0]

    def diff(self, candidate):
        """Returns the differences of the files, and the plan as text."""
        diffs = [
            {
                "before_header": path,
                "after_header": path,
                "before": self.before[path] or "",
                "after": self.after[path] or "",
            }
            for path in self.changed_files()
        ]
        if candidate:
            plan = self.copse.run("plan", "--diff", "--color=never", "--as", self.name, candidate)[1]
            diffs.append({"prepared": plan})
        return diffs

    # --- changes ---

    def install(self, texts):
        """Installs files, each in one step. A file with None is removed."""
        for path, text in texts.items():
            if text is None:
                if os.path.lexists(path):
                    os.unlink(path)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            temporary = os.path.join(self.module.tmpdir, "copse-" + os.path.basename(path))
            write(temporary, text)
            self.module.atomic_move(temporary, path)
            os.chmod(path, 0o644)
        if os.path.isdir(self.folder) and not os.listdir(self.folder):
            os.rmdir(self.folder)

    def pace(self):
        """Returns the options of copse apply and copse restart for the pace."""
        options = []
        for parameter in ("canary", "max_unavailable", "pause"):
            if self.params[parameter] is not None:
                options.append("--%s=%s" % (parameter.replace("_", "-"), self.params[parameter]))
        return options

    def apply(self, *options):
        """Runs copse apply, and takes over what it reports."""
        wait = ["--wait"] if self.params["wait"] else []
        status, found, error = self.copse.objects("apply", "--json", *wait, *options, self.name)
        report = found[0] if found else {}
        self.take(report)
        if "complete" in report:
            self.result["complete"] = report["complete"]
            self.result["held"] = report["held"]
        if status != lib.DONE:
            raise lib.Failed(self.failure(report, error))

    def act(self, *command):
        """Runs another command with --json, and takes over what it reports."""
        status, found, error = self.copse.objects(*command[:1], "--json", *command[1:])
        for report in found:
            self.take(report)
        if status != lib.DONE:
            raise lib.Failed(self.failure(found[-1] if found else {}, error))

    def take(self, report):
        self.result["changed"] |= report.get("changed", False)
        self.result.setdefault("units", []).extend(report.get("units", []))

    def failure(self, report, error):
        failed = "; ".join(lib.failed_units(report.get("units", [])))
        return "group `%s`: %s" % (self.name, failed or error)

    def verdict(self):
        status = self.copse.status(self.name)
        return status["verdict"] if status else "absent"

    def is_inactive(self):
        status = self.copse.status(self.name)
        return status is None or status["verdict"] in lib.INACTIVE

    def runs_its_files(self):
        """Whether an apply of the files on the host has nothing to do."""
        _status, plans, _error = self.copse.objects("plan", "--json", self.name)
        return bool(plans) and not plans[0].get("errors") and not plans[0].get("changed")

    def restart_the_rest(self):
        """Restarts the processes that the apply did not start or restart."""
        touched = {unit["unit"] for unit in self.result["units"] if unit["action"] in ("restart", "roll", "start", "rebind")}
        status = self.copse.status(self.name) or {"units": []}
        rest = [
            "%s/%s" % (self.name, unit["name"])
            for unit in status["units"]
            if unit["kind"] == "process" and unit["start"] == "auto" and unit["unit"] not in touched and unit["active_state"] == "active"
        ]
        if rest:
            self.act("restart", *self.pace(), *(rest if touched else [self.name]))

    def change(self):
        """Installs the files and brings the group into the state. Raises Failed if it does not get there."""
        state = self.params["state"]
        if state == "stopped" and self.status and not self.is_stopped():
            self.act("stop", self.name)
        self.was_current = self.runs_its_files()
        self.replace_files()
        if self.changed_files() and (not self.status or self.status["verdict"] in lib.INACTIVE):
            # A file that was removed and is back has units that are not loaded, although copse knows them.
            self.module.run_command(["systemctl", "daemon-reload"], check_rc=True)
        self.apply(*self.pace())
        if state in ("started", "restarted") and self.is_inactive():
            self.act("start", self.name)
        elif state == "restarted":
            self.restart_the_rest()

    def replace_files(self):
        changed = self.changed_files()
        if not changed:
            return
        held = None if self.params["wait"] else lib.lock(self.name)
        try:
            self.install({path: self.after[path] for path in changed})
        finally:
            if held:
                held.close()
        self.result["changed"] = True

    def back(self):
        """Returns to the files and the units before. Returns what was done, as the end of a message."""
        new = lib.installed_file(self.name) == self.path and self.before.get(self.path, "") is None
        was_inactive = not self.status or self.is_stopped()
        if was_inactive and self.copse.status(self.name):
            self.copse.run("stop", self.name)
            self.copse.run("reset-failed", self.name)
        self.install({path: self.before[path] for path in self.changed_files()})
        if new:
            self.module.run_command(["systemctl", "daemon-reload"])
            return "the new group was stopped and its files were removed"
        # The files that are back are what ran, unless a user had edited them since. `--rollback` goes to the last complete
        # apply, which is older than what ran if the group was stopped and started with other files since.
        rollback = [] if was_inactive or self.was_current else ["--rollback"]
        command = ["apply", "--json", *rollback, self.name]
        status, found, error = self.copse.objects(*command)
        self.result["units"] = self.result.get("units", []) + (found[0]["units"] if found else [])
        if status != lib.DONE:
            failed = "; ".join(lib.failed_units(found[0]["units"])) if found else error
            raise lib.Failed("the rollback failed as well: %s" % failed)
        return "rolled back to the previous files"

    def is_stopped(self):
        return self.status["verdict"] == "stopped"

    def set_enabled(self):
        wanted = self.params["enabled"]
        if wanted is None:
            return
        state = self.module.run_command(["systemctl", "is-enabled", self.name + ".target"])[1].strip()
        if (state == "enabled") == wanted:
            return
        self.result["changed"] = True
        if not self.module.check_mode:
            self.act("enable" if wanted else "disable", self.name)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def steps(plan):
    """Returns the steps of a plan with the names of their units."""
    return [{"action": step["action"], "units": [unit["name"] for unit in step["units"]]} for step in plan["steps"]]


def stops(status):
    """Returns the units that a stop of the group would stop, as a plan."""
    units = [unit["name"] for unit in status["units"] if unit["active_state"] in ("active", "activating", "reloading")]
    return [{"action": "stop", "units": units}] if units else []


def predict(group, candidate):
    """Check mode: what the task would do."""
    state, status = group.params["state"], group.status
    planned = []
    if state in ("absent", "stopped"):
        planned = stops(status) if status else []
    elif state == "rolled_back":
        planned = [] if status["rolled_back"] or not rollback_differs(group) else [{"action": "rollback", "units": []}]
    else:
        plan = group.plan(candidate)
        planned = steps(plan)
        if state in ("started", "restarted") and not plan["active"]:
            planned.append({"action": "start", "units": []})
        elif state == "restarted":
            planned.append({"action": "restart", "units": []})
    group.result["plan"] = planned
    group.result["changed"] = bool(planned or group.changed_files())


def rollback_differs(group):
    """Whether there is something to roll back: the group runs other files than those of now."""
    _status, plans, _error = group.copse.objects("plan", "--json", group.name)
    return bool(plans and (plans[0].get("errors") or plans[0]["changed"] or plans[0]["files"]))


def remove(group):
    """Removes the group from the host."""
    if group.status and not group.is_stopped():
        group.act("stop", group.name)
    if group.before.get(group.path) is not None or group.status:
        state = group.module.run_command(["systemctl", "is-enabled", group.name + ".target"])[1].strip()
        if state == "enabled":
            group.act("disable", group.name)
    if group.changed_files():
        group.replace_files()
        group.module.run_command(["systemctl", "daemon-reload"], check_rc=True)


def carry_out(group):
    """Everything but check mode."""
    state = group.params["state"]
    if state == "absent":
        remove(group)
        return
    if state == "rolled_back":
        if not group.status["rolled_back"]:
            group.apply("--rollback", *group.pace())
    else:
        try:
            group.change()
        except lib.Failed as failed:
            went_back = False
            end = ""
            if group.params["on_failure"] == "rollback" and "units" in group.result:
                end = "; " + group.back()
                went_back = True
            raise lib.Failed(failed.message + end, rolled_back=went_back) from failed
    group.set_enabled()


def run(module):
    group = Group(module)
    state = module.params["state"]
    group.refuse_what_a_user_decided()
    if state == "rolled_back" and not group.status:
        raise lib.Failed("there is no group `%s` on this host" % group.name)
    held = None if module.params["wait"] else lib.lock(group.name)
    if held:
        held.close()
    directory = tempfile.mkdtemp(prefix="copse-", dir=module.tmpdir)
    try:
        candidate = None
        if state not in ("absent", "rolled_back"):
            candidate = group.candidate(directory)
            group.check(candidate)
        if module._diff:
            group.result["diff"] = group.diff(candidate)
        if module.check_mode:
            predict(group, candidate)
            if state != "absent":
                group.set_enabled()
        else:
            carry_out(group)
            group.result["verdict"] = group.verdict()
        return group.result
    except lib.Failed as failed:
        if not module.check_mode:
            failed.results.setdefault("verdict", group.verdict())
        failed.results = dict(group.result, **failed.results)
        raise
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    # A lost connection must not end the work between two steps.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "content": {"type": "str"},
            "src": {"type": "path"},
            "drop_ins": {"type": "dict", "aliases": ["drop_in"]},
            "state": {
                "type": "str",
                "choices": ["applied", "started", "stopped", "restarted", "rolled_back", "absent"],
                "default": "applied",
            },
            "enabled": {"type": "bool"},
            "canary": {"type": "str"},
            "max_unavailable": {"type": "str"},
            "pause": {"type": "str"},
            "wait": {"type": "bool", "default": False},
            "on_failure": {"type": "str", "choices": ["hold", "rollback"], "default": "hold"},
            "force": {"type": "bool", "default": False},
        },
        mutually_exclusive=[["content", "src"]],
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run(module))
    except lib.Failed as failed:
        module.fail_json(msg=failed.message, **failed.results)


if __name__ == "__main__":
    main()
