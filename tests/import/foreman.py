"""Reads Procfiles and .env files with the regular expressions of foreman (lib/foreman/procfile.rb and env.rb, 0.90).

Reads a JSON array of `{"procfile", "env"}` from the standard input; prints a JSON array of `{"entries", "words",
"variables"}`: names with commands, the words of each command, or null where it has no end, and the variables.
"""

import json
import re
import shlex
import sys


def lines(text):
    return text.replace("\r\n", "\n").split("\n")


def words(command):
    try:
        return shlex.split(command)
    except ValueError:
        return None


def variables(text):
    found = {}
    for line in lines(text):
        match = re.fullmatch(r"([A-Za-z_0-9]+)=(.*)", line)
        if not match:
            continue
        name, value = match.groups()
        if single := re.fullmatch(r"'(.*)'", value):
            value = single[1]
        elif double := re.fullmatch(r'"(.*)"', value):
            value = re.sub(r"\\(.)", r"\1", double[1].replace("\\n", "\n"))
        found[name] = value
    return found


def read(case):
    matches = (re.match(r"([A-Za-z0-9_-]+):\s*(.+)$", line) for line in lines(case["procfile"]))
    entries = [match.groups() for match in matches if match]
    return {
        "entries": entries,
        "words": [words(command) for _, command in entries],
        "variables": variables(case["env"]),
    }


json.dump([read(case) for case in json.load(sys.stdin)], sys.stdout)
