"""Says what supervisor itself reads from configuration files, through its own option parser.

Reads a JSON array of cases from the file that is named, `{"files": {path: text}, "main", "environment", "host"}`, and prints a JSON array of what supervisor makes of each: its groups with their processes, or the error with
which it refuses the file. Whether users, groups and directories exist is nothing that is asked here.
"""

import io
import json
import os
import platform
import shlex
import signal
import sys

from supervisor import datatypes, options

options.name_to_uid = lambda name: name
options.gid_for_uid = lambda uid: 0
options.colon_separated_user_group = lambda text: text
options.existing_directory = lambda path: path
options.existing_dirpath = lambda path: path
datatypes.existing_dirpath = options.existing_dirpath


def restart(value):
    return value if isinstance(value, bool) else value.__name__


def words(command):
    # supervisor finds both only when the process is to be started.
    argv = shlex.split(command)
    if not argv:
        raise ValueError("command is empty")
    return argv


def program(process, daemon):
    # What a process doesn't say it has from supervisord itself, which is daemonized there.
    inherited = lambda own, its: its if own is None else own
    # A relative one is relative to that.
    directory = daemon.directory if process.directory is None else os.path.join(daemon.directory or "", process.directory)
    return {
        "name": process.name,
        "argv": words(process.command),
        "environment": process.environment,
        "directory": directory,
        "umask": inherited(process.umask, daemon.umask),
        "user": inherited(process.uid, daemon.user),
        "autostart": process.autostart,
        "autorestart": restart(process.autorestart),
        "startsecs": process.startsecs,
        "startretries": process.startretries,
        "stopsignal": signal.Signals(process.stopsignal).name,
        "stopwaitsecs": process.stopwaitsecs,
        "stopasgroup": process.stopasgroup,
        "killasgroup": process.killasgroup,
        "exitcodes": process.exitcodes,
    }


def ask(case):
    for name, text in case["files"].items():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    os.environ.clear()
    os.environ.update(case["environment"])
    platform.node = lambda: case["host"]
    server = options.ServerOptions()
    server.stderr = io.StringIO()
    try:
        server.configfile = case["main"]
        server.process_config_file(do_usage=False)
        daemon = server.configroot.supervisord
        return {
            "groups": [
                {
                    "group": group.name,
                    "kind": type(group).__name__,
                    "priority": group.priority,
                    "programs": [program(process, daemon) for process in group.process_configs],
                }
                for group in daemon.process_group_configs
            ]
        }
    except (ValueError, AttributeError, TypeError, AssertionError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        for name in case["files"]:
            os.unlink(name)


with open(sys.argv[1], encoding="utf-8") as file:
    json.dump([ask(case) for case in json.load(file)], sys.stdout)
