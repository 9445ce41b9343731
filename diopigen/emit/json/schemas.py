"""JSON Schemas for editors (yaml-language-server) and other checkers: spec files, convert_config.yaml, chips."""

from __future__ import annotations

import json
from pathlib import Path

from diopigen.chip import grammar as chip
from diopigen.config.grammar import json_schema
from diopigen.contract.functions import DTYPE_RULES
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.ir.model import Interface
from diopigen.ir.naming import DIOPI
from diopigen.ir.types import TYPES
from diopigen.project import grammar as project
from diopigen.spec.grammar import FILES
from diopigen.spec.grammar_operators import FOREIGN_OPERATORS_FILE
from diopigen.spec.schema import Words, to_json_schema

TARGET = "schemas"


def emit(interface: Interface, templates: Path) -> Plan:
    """`schema/<kind>.schema.json`. They know the dtypes and types of the interface, those of convert_config.yaml and of
    chips operators and families as well, so that an editor completes them."""
    files = []
    for kind, schema in (
        ("convert_config", json_schema(interface)),
        (chip.KIND, chip.json_schema(interface)),
        (project.KIND, project.json_schema()),
    ):
        content = (json.dumps(schema, indent=1) + "\n").encode()
        files.append(PlannedFile(f"schema/{kind}.schema.json", content, interface.files, TARGET))
    known = words(interface)
    foreign = {} if interface.naming.prefix == DIOPI.prefix else {"ops": FOREIGN_OPERATORS_FILE}
    for kind, shape in {**FILES, **foreign}.items():
        text = json.dumps(to_json_schema(shape, f"diopigen {kind} file", known), indent=1) + "\n"
        files.append(PlannedFile(f"schema/{kind}.schema.json", text.encode(), ("specs/types.yaml",), TARGET))
    return Plan(tuple(files))


def words(interface: Interface) -> Words:
    """The words of the vocabularies that the grammar names."""
    dtypes = [dtype.name for dtype in interface.dtypes]
    return {
        "dtype": dtypes,
        "dtype_or_set": [*dtypes, *(found.name for found in interface.dtype_sets)],
        "dtype_rule": list(DTYPE_RULES),
        "type": [*TYPES, *interface.named_types],
    }
