# Copyright: the contributors of copse
# SPDX-License-Identifier: MIT OR Apache-2.0

"""The modules against a copse that answers as the tests say. Needs Python alone: `python3 -m unittest`."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PACKAGE = "ansible_collections.copse.systemd.plugins"


def load(name, path):
    """Imports a file of the collection under the name that it has on a managed host."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stand_in(name, **values):
    module = sys.modules.setdefault(name, types.ModuleType(name))
    for key, value in values.items():
        setattr(module, key, value)
    return module


for part in ("ansible", "ansible.module_utils", "ansible_collections", "ansible_collections.copse"):
    stand_in(part)
stand_in("ansible_collections.copse.systemd")
stand_in(PACKAGE)
stand_in("ansible.module_utils.basic", AnsibleModule=None)
lib = load(PACKAGE + ".module_utils.copse", "plugins/module_utils/copse.py")
stand_in(PACKAGE + ".module_utils", copse=lib)
group = load("group", "plugins/modules/group.py")
group_info = load("group_info", "plugins/modules/group_info.py")

DEFAULTS = {
    "name": "shop",
    "content": None,
    "src": None,
    "drop_ins": None,
    "state": "applied",
    "enabled": None,
    "canary": None,
    "max_unavailable": None,
    "pause": None,
    "wait": False,
    "on_failure": "hold",
    "force": False,
}

STATUS = {"group": "shop", "verdict": "active", "rolled_back": None, "units": []}
PLAN = {"group": "shop", "active": True, "changed": False, "steps": [], "files": []}
APPLIED = {"group": "shop", "changed": True, "complete": True, "held": [], "units": []}
FAILED_UNIT = {
    "name": "web@1",
    "unit": "shop-web@1.service",
    "action": "restart",
    "result": "failed",
    "error": "failed: exit status 3",
    "last_line": "no config",
}


class Module:
    """AnsibleModule as far as it is used, with answers in place of programs."""

    def __init__(self, directory, answers, check_mode=False, diff=False, **params):
        self.params = dict(DEFAULTS, **params)
        self.check_mode, self._diff, self.tmpdir = check_mode, diff, directory
        self.answers = answers
        self.commands = []

    def get_bin_path(self, name):
        return None if self.answers is None else name

    def run_command(self, args, environ_update=None, check_rc=False):
        words = args[1:] if args[0] == "copse" else args
        if words == ["--version"]:
            return 0, self.answers.get("version", "copse 0.1.0") + "\n", ""
        self.commands.append(" ".join(words))
        answer = self.answers.get(words[0], (0, "", ""))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        status, out, err = answer
        return status, json.dumps(out) + "\n" if isinstance(out, dict) else out, err

    def atomic_move(self, source, destination):
        shutil.move(source, destination)


class Modules(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        etc = os.path.join(self.directory, "etc")
        os.makedirs(etc)
        group.DIRECTORY = etc
        lib.DIRECTORIES = (etc,)
        lib.installed_file.__defaults__ = lib.held_processes.__defaults__ = ((etc,),)
        lib.LOCKS = os.path.join(self.directory, "lock")
        self.path = os.path.join(etc, "shop.toml")

    def answers(self, **changes):
        answers = {"status": (0, STATUS, ""), "plan": (0, PLAN, ""), "apply": (0, dict(APPLIED, changed=False), "")}
        answers.update(changes)
        return answers

    def run_module(self, answers=None, **params):
        self.module = Module(self.directory, self.answers() if answers is None else answers, **params)
        return group.run(self.module)

    def fails(self, text, answers=None, **params):
        with self.assertRaises(lib.Failed) as caught:
            self.run_module(answers, **params)
        self.assertIn(text, caught.exception.message)
        return caught.exception.results

    def text(self):
        return lib.read_text(self.path)

    def test_a_file_is_checked_installed_and_applied_once(self):
        result = self.run_module(content="a = 1")
        self.assertEqual((result["changed"], result["files"], self.text()), (True, [self.path], "a = 1\n"))
        self.assertTrue(self.module.commands[1].startswith("check --as shop"))
        self.assertIn("apply --json shop", self.module.commands)
        again = self.run_module(content="a = 1")
        self.assertEqual((again["changed"], again["files"]), (False, []))

    def test_check_mode_writes_nothing_and_says_what_the_plan_says(self):
        plan = dict(PLAN, changed=True, steps=[{"action": "roll", "units": [{"name": "web@1"}]}])
        result = self.run_module(self.answers(plan=(0, plan, "")), content="a = 1", check_mode=True, diff=True)
        self.assertEqual((result["changed"], result["plan"]), (True, [{"action": "roll", "units": ["web@1"]}]))
        self.assertEqual((result["diff"][0]["before"], result["diff"][0]["after"]), ("", "a = 1\n"))
        self.assertIsNone(self.text())
        self.assertFalse([command for command in self.module.commands if command.startswith("apply")])

    def test_a_mistake_is_refused_with_its_line_before_a_file_is_replaced(self):
        group.write(self.path, "old\n")
        answers = self.answers(check=(5, "error[unknown-key]: x\n --> 1:1\n", ""))
        self.fails("no file was replaced:\nerror[unknown-key]: x", answers, content="x = 1")
        self.assertEqual(self.text(), "old\n")

    def test_a_failed_apply_is_held_or_goes_back(self):
        group.write(self.path, "old\n")
        broken = (6, dict(APPLIED, complete=False, held=["shop-web@2.service"], units=[FAILED_UNIT]), "copse: x\n")
        said = "group `shop`: web@1 failed: exit status 3: no config"
        results = self.fails(said, self.answers(apply=broken), content="new")
        self.assertEqual((results["held"], results["rolled_back"], self.text()), (["shop-web@2.service"], False, "new\n"))
        group.write(self.path, "old\n")
        answers = self.answers(apply=[broken, (0, APPLIED, "")])
        results = self.fails(said + "; rolled back to the previous files", answers, content="new", on_failure="rollback")
        self.assertEqual((results["rolled_back"], self.text()), (True, "old\n"))
        self.assertEqual(self.module.commands[-2:], ["apply --json shop", "status --json shop"])
        # What ran were not these files.
        edited = self.answers(apply=[broken, (0, APPLIED, "")], plan=(0, dict(PLAN, changed=True), ""))
        group.write(self.path, "edited\n")
        self.fails("rolled back to the previous files", edited, content="new", on_failure="rollback")
        self.assertEqual(self.module.commands[-2:], ["apply --json --rollback shop", "status --json shop"])
        results = self.fails("the rollback failed as well", self.answers(apply=broken), content="new", on_failure="rollback")

    def test_what_a_user_decided_is_refused_unless_forced(self):
        rolled_back = self.answers(status=(0, dict(STATUS, rolled_back=1), ""))
        self.fails("is rolled back", rolled_back, content="a")
        self.assertTrue(self.run_module(rolled_back, content="a", force=True)["changed"])
        os.makedirs(self.path + ".d")
        group.write(os.path.join(self.path + ".d", "90-hold-web.toml"), "")
        self.fails("a user holds `shop/web`; run `copse release`", content="a")

    def test_a_lock_an_old_copse_and_a_missing_one_are_refused(self):
        os.makedirs(lib.LOCKS)
        with open(os.path.join(lib.LOCKS, "shop"), "w+", encoding="utf-8") as file:
            file.write("7\n")
            file.flush()
            fcntl.flock(file, fcntl.LOCK_EX)
            self.fails("is locked by another `copse apply` (process 7)", content="a")
        self.fails("copse 0.0.9 on this host is too old", self.answers(version="copse 0.0.9"), content="a")
        with self.assertRaisesRegex(lib.Failed, "not installed on this host"):
            group.run(Module(self.directory, None))
        self.assertIsNone(self.text())

    def test_a_drop_in_is_installed_and_removed_with_its_directory(self):
        group.write(self.path, "a\n")
        self.run_module(drop_ins={"50-host.toml": "x = 1"})
        path = os.path.join(self.path + ".d", "50-host.toml")
        self.assertEqual(lib.read_text(path), "x = 1\n")
        self.run_module(drop_ins={"50-host.toml": None})
        self.assertFalse(os.path.exists(self.path + ".d"))

    def test_the_pace_is_handed_on(self):
        self.run_module(content="a", canary="30s", max_unavailable="25%", pause="5s", wait=True)
        self.assertIn("apply --json --wait --canary=30s --max-unavailable=25% --pause=5s shop", self.module.commands)

    def test_absent_removes_everything_of_the_group(self):
        group.write(self.path, "a\n")
        result = self.run_module(state="absent")
        self.assertTrue(result["changed"] and not os.path.exists(self.path))
        self.assertIn("stop --json shop", self.module.commands)
        gone = self.answers(status=(4, "", ""))
        self.assertFalse(self.run_module(gone, state="absent")["changed"])

    def test_the_state_of_groups_is_returned(self):
        module = Module(self.directory, self.answers())
        self.assertEqual(group_info.run(module)["groups"], [STATUS])

    def test_versions_and_messages(self):
        self.assertEqual([lib.version_tuple(text) for text in ("0.1.0", "1.2~rc1", "x")], [(0, 1, 0), (1, 2), ()])
        self.assertEqual(lib.message("copse: it failed\n  help: do this\n"), "it failed; do this")


if __name__ == "__main__":
    unittest.main()
