"""`conformance/diopi_configs.py`: the recipes of the spec for test runners that read the established Python form."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.conformance.groups import entry, groups
from diopigen.emit.conformance.python_text import Literal, assignment
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import BANNER_COMMAND
from diopigen.emit.wrapping import wrapped
from diopigen.ir.model import Interface

TARGET = "conformance"

_HEAD = '''\
# Generated from specs/ by `{command}`; do not edit.
"""The argument recipes of the spec as groups of test cases.

The lists of a group are zipped: the i-th shape of every tensor goes with the i-th value of every argument in `para`,
and all of them with every dtype. `tag` names the C function. Not in the format: bfloat16 and float8, which NumPy lacks;
calls that must be refused; arrays of tensors.
"""

import numpy as np

'''


def emit(interface: Interface, templates: Path) -> Plan:
    """The one file."""
    del templates
    found, left = groups(interface)
    configs: dict[str, Literal] = {group.key: entry(interface, group) for group in found}
    text = _HEAD.format(command=BANNER_COMMAND) + assignment("diopi_configs", configs)
    if left:
        named = wrapped(", ".join(left), 114)
        text += "\n# Functions whose recipes the format cannot say:\n" + "".join(f"#   {line}\n" for line in named)
    return Plan((PlannedFile("conformance/diopi_configs.py", text.encode(), interface.files, TARGET),))
