"""Runs Procfiles as foreman and as honcho do, and the commands of the groups that were imported from them.

Reads a JSON array of cases from the file that is named, `{"procfile", "env", "formation", "counts", "port", "ours":
[{"label", "argv", "environment"}]}`, and prints a JSON array of `{"ours", "foreman", "honcho"}`: for each the executions
by their labels, `NAME.NUMBER:PORT`, each a sorted list of what the programs that it started saw, which is their
arguments, environment and working directory; or the error with which the tool refuses the files.

The programs are links to one that writes down what it sees.
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.append("/usr/local/lib/honcho")
from honcho import command, environ, process

ROOT = "/srv/procfile"
SEEN = "/run/procfile"
PROGRAMS = ["show", "web", "migrate", "clock", "build", "bundle", "psql"]
SHOW = """#!/bin/sh
{
    for word; do printf '%s\\0' "$word"; done
    printf '\\1\\0'
    /bin/cat "/proc/$$/environ"
    printf '\\1\\0'
    /bin/readlink "/proc/$$/cwd"
} >"$SEEN/$$"
"""
BASE = {"PATH": f"{ROOT}/bin:/usr/bin:/bin", "SEEN": SEEN, "LANG": "C.UTF-8", "HOME": "/root"}
# What a shell sets by itself, and where the tools say which process it is.
OF_NOBODY = {"SEEN", "PWD", "OLDPWD", "SHLVL", "_", "LINES", "COLUMNS"}


def prepare():
    shutil.rmtree(ROOT, ignore_errors=True)
    for name in ["bin", "sub", "assets"]:
        os.makedirs(f"{ROOT}/{name}")
    with open(f"{ROOT}/bin/show", "w") as file:
        file.write(SHOW)
    os.chmod(f"{ROOT}/bin/show", 0o755)
    for name in PROGRAMS[1:]:
        os.symlink("show", f"{ROOT}/bin/{name}")


def seen():
    """What all programs saw since the last call."""
    all = []
    for name in os.listdir(SEEN):
        path = f"{SEEN}/{name}"
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            argv, environment, directory = file.read().split("\1\0")
        os.unlink(path)
        variables = dict(variable.split("=", 1) for variable in environment.split("\0") if variable)
        all.append((argv.split("\0")[:-1], variables, directory.strip()))
    return all


def told(all):
    """The same, without what nobody gave them."""
    kept = lambda variables: {name: value for name, value in variables.items() if name not in OF_NOBODY}
    return sorted(([argv, kept(variables), directory] for argv, variables, directory in all), key=json.dumps)


def ours(case):
    found = {}
    for one in case["ours"]:
        options = {"cwd": ROOT, "env": BASE | one["environment"], "stdin": subprocess.DEVNULL}
        try:
            subprocess.run(one["argv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        except OSError:
            pass
        found[one["label"]] = told(seen())
    return found


def honcho(case):
    try:
        env = environ.parse(case["env"])
        procfile = environ.parse_procfile(case["procfile"])
    except (ValueError, AssertionError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    # As `honcho start` finds it: the option, the file, the default.
    port = int(case["port"] or env.get("PORT") or command.DEFAULTS["port"])
    found = {}
    for one in environ.expand_processes(procfile.processes, case["counts"], env, port=port):
        process.Popen(one.cmd, env=BASE | one.env, cwd=ROOT).communicate()
        found[f"{one.name}:{one.env['PORT']}"] = told(seen())
    return found


def foreman(cases):
    """All at once: Ruby takes its time to start."""
    script = os.path.join(os.path.dirname(__file__), "foremen.rb")
    server = subprocess.Popen(["ruby", script, ROOT], env=BASE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for case in cases:
        server.stdin.write(json.dumps(case) + "\n")
        server.stdin.flush()
        said = json.loads(server.stdout.readline())
        if "error" in said:
            yield said
            continue
        found = {label: [] for label in said["labels"]}
        for one in seen():
            # Programs may be started without a port, or with another; foreman says by itself who they are.
            label = f"{one[1]['PS']}:{said['ports'][one[1]['PS']]}"
            found[label].append(one)
        yield {label: told(all) for label, all in found.items()}
    server.stdin.close()
    server.wait()


with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
prepare()
shutil.rmtree(SEEN, ignore_errors=True)
os.makedirs(SEEN)
by_foreman = foreman(cases)
json.dump([{"ours": ours(case), "honcho": honcho(case), "foreman": next(by_foreman)} for case in cases], sys.stdout)
