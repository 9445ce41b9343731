"""JSON Schemas for editors (yaml-language-server) and other checkers: spec files, convert_config.yaml, chips."""

from __future__ import annotations

import json
from pathlib import Path

from diopigen.chip import grammar as chip
from diopigen.config.grammar import json_schema
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.ir.model import Interface
from diopigen.spec.grammar import FILES
from diopigen.spec.schema import to_json_schema

TARGET = "schemas"


def emit(interface: Interface, templates: Path) -> Plan:
    """`schema/<kind>.schema.json`; they follow from the grammar alone, but for those of convert_config.yaml and chips.

    Those know the names of the interface, so that an editor completes them.
    """
    files = []
    for kind, schema in (("convert_config", json_schema(interface)), (chip.KIND, chip.json_schema(interface))):
        content = (json.dumps(schema, indent=1) + "\n").encode()
        files.append(PlannedFile(f"schema/{kind}.schema.json", content, interface.files, TARGET))
    for kind, shape in FILES.items():
        text = json.dumps(to_json_schema(shape, f"diopigen {kind} file"), indent=1) + "\n"
        files.append(PlannedFile(f"schema/{kind}.schema.json", text.encode(), (), TARGET))
    return Plan(tuple(files))
