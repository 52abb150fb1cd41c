# Copyright: the contributors of copse
# SPDX-License-Identifier: MIT OR Apache-2.0

"""What the modules share: the command on the managed host, group files, and messages."""

from __future__ import annotations

import fcntl
import json
import os
import re

# The oldest copse that has everything that the collection calls.
MINIMUM_VERSION = (0, 1, 0)

# In the order of precedence: a file hides those of the same name in later directories.
DIRECTORIES = ("/etc/copse", "/run/copse", "/usr/local/lib/copse", "/usr/lib/copse")

LOCKS = "/run/copse/lock"

# The exit statuses of copse(1).
DONE = 0
NO_SUCH_GROUP = 4
INVALID = 5

# The states of copse(1) in which a group needs a start.
INACTIVE = ("stopped", "failed")

GROUP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
DROP_IN_NAME = re.compile(r"[^./][^/]*\.toml\Z")


class Failed(Exception):
    """A failure with its message for the user, and with what the module returns in addition."""

    def __init__(self, message, **results):
        super().__init__(message)
        self.message = message
        self.results = results


class Copse:
    """The command copse on the managed host."""

    def __init__(self, module):
        self.module = module
        self.path = module.get_bin_path("copse")
        if self.path is None:
            raise Failed("copse is not installed on this host; install the package copse")
        self.version = self._version()
        if version_tuple(self.version) < MINIMUM_VERSION:
            needed = ".".join(str(number) for number in MINIMUM_VERSION)
            raise Failed("copse %s on this host is too old; upgrade the package copse to %s or newer" % (self.version, needed))

    def run(self, *args):
        """Runs a command; returns its exit status, standard output and standard error."""
        return self.module.run_command([self.path, *args], environ_update={"NO_COLOR": "1", "LC_ALL": "C.UTF-8"})

    def _version(self):
        _status, out, _err = self.run("--version")
        return out.strip().split(" ")[-1]

    def objects(self, *args):
        """Runs a command with --json; returns its exit status, the objects that it printed, and its message."""
        status, out, err = self.run(*args)
        return status, objects(out), message(err)

    def status(self, group):
        """Returns the status of a group, or None if there is no such group."""
        status, found, error = self.objects("status", "--json", group)
        if status == NO_SUCH_GROUP:
            return None
        if not found:
            raise Failed("cannot read the status of group `%s`: %s" % (group, error))
        return found[0]


def version_tuple(text):
    """Returns the numbers of a version: `0.1.0~rc1` and `0.1.0-1` are 0.1.0."""
    numbers = re.match(r"[0-9.]*", text).group(0).strip(".")
    return tuple(int(number) for number in numbers.split(".") if number)


def objects(text):
    """Returns the JSON objects in a text, one in each line. Other lines are ignored."""
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def message(text):
    """Returns a message on standard error as one line, its help after a semicolon."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line[len("copse: "):] if line.startswith("copse: ") else line for line in lines]
    joined = ""
    for line in lines:
        helps = line.startswith("help: ")
        joined += ("; " if joined else "") + (line[len("help: "):] if helps else line)
    return joined


def failed_units(units):
    """Describes the units of `copse apply --json` that failed: `web@1 failed: exit status 3: cannot load config`."""
    texts = []
    for unit in units:
        if unit.get("result") != "failed":
            continue
        text = "%s %s" % (unit["name"], unit.get("error") or "failed")
        if unit.get("last_line"):
            text += ": %s" % unit["last_line"]
        texts.append(text)
    return texts


def lock(group):
    """Takes the lock of `copse apply` for a group, and returns the open file.

    Returns None if no apply ever ran. Raises Failed if another apply holds the lock.
    """
    try:
        file = open(os.path.join(LOCKS, group), "r+", encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failed("cannot lock group `%s`: %s; become root" % (group, error.strerror)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        process = file.read(32).strip()
        file.close()
        held = "group `%s` is locked by another `copse apply`%s" % (group, " (process %s)" % process if process else "")
        raise Failed("%s; run the task again when it has ended, or set `wait: true`" % held) from error
    return file


def held_processes(group, directories=DIRECTORIES):
    """Returns the processes of a group that `copse hold` stopped, from the drop-ins that it writes."""
    held = set()
    for directory in directories:
        folder = os.path.join(directory, group + ".toml.d")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        found = (re.match(r"[0-9]+-hold-(.+)\.toml\Z", name) for name in names)
        held.update(match.group(1) for match in found if match)
    return sorted(held)


def read_text(path):
    """Returns the text of a file, or None if it does not exist."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def installed_file(group, directories=DIRECTORIES):
    """Returns the path of a group's file, or None. The first directory that has one counts."""
    for directory in directories:
        path = os.path.join(directory, group + ".toml")
        if os.path.lexists(path):
            return path
    return None
