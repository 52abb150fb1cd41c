#!/usr/bin/python
# Copyright: the contributors of copse
# SPDX-License-Identifier: MIT OR Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
---
module: group_info
short_description: Return the state of groups of copse
version_added: 0.1.0
description:
  - Returns the state of one group or all groups, with what C(copse status) shows for each process.
author:
  - The contributors of copse (@copse-systemd)
requirements:
  - copse 0.1.0 or newer on the managed host
options:
  name:
    description:
      - The name of a group. Without it, all groups are returned, without the details of their processes.
    type: str
attributes:
  check_mode:
    description: Can run in check mode, and changes nothing.
    support: full
  diff_mode:
    description: Returns no differences, since nothing changes.
    support: none
  platform:
    description: The operating systems that the module supports.
    platforms: posix
    support: full
seealso:
  - module: copse.systemd.group
"""

EXAMPLES = r"""
- name: Read the state of the shop
  copse.systemd.group_info:
    name: shop
  register: shop

- name: Fail if it is not active
  ansible.builtin.assert:
    that: shop.groups[0].verdict == 'active'
"""

RETURN = r"""
groups:
  description: An object of C(copse status --json) for each group; empty if there is no such group.
  returned: always
  type: list
  elements: dict
  sample:
    - group: shop
      verdict: active
      reason: null
      units:
        - name: web@1
          unit: shop-web@1.service
          state: active
held:
  description: The processes of the group O(name) that a user holds with C(copse hold).
  returned: when O(name) is set
  type: list
  elements: str
  sample: [worker]
machine_id:
  description: The machine ID of the host, machine-id(5).
  returned: always
  type: str
version:
  description: The version of copse on the host.
  returned: always
  type: str
  sample: 0.1.0
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.copse.systemd.plugins.module_utils import copse as lib


def run(module):
    name = module.params["name"]
    copse = lib.Copse(module)
    result = {"version": copse.version, "machine_id": (lib.read_text("/etc/machine-id") or "").strip()}
    if name is None:
        status, result["groups"], error = copse.objects("list", "--json")
        if status != lib.DONE:
            raise lib.Failed("cannot list the groups: %s" % error)
    else:
        found = copse.status(name)
        result["groups"] = [found] if found else []
        result["held"] = lib.held_processes(name)
    return result


def main():
    module = AnsibleModule(argument_spec={"name": {"type": "str"}}, supports_check_mode=True)
    try:
        module.exit_json(changed=False, **run(module))
    except lib.Failed as failed:
        module.fail_json(msg=failed.message)


if __name__ == "__main__":
    main()
