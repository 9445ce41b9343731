"""JSON Schemas of the spec files and of convert_config.yaml, for editors (yaml-language-server) and other checkers."""

from __future__ import annotations

import json
from pathlib import Path

from diopigen.config.grammar import json_schema
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.ir.model import Interface
from diopigen.spec.grammar import FILES
from diopigen.spec.schema import to_json_schema

TARGET = "schemas"


def emit(interface: Interface, templates: Path) -> Plan:
    """`schema/<kind>.schema.json`; they follow from the grammar alone, but for that of convert_config.yaml.

    That one knows the names of the interface, so that an editor completes them.
    """
    config = json.dumps(json_schema(interface), indent=1) + "\n"
    files = [PlannedFile("schema/convert_config.schema.json", config.encode(), interface.files, TARGET)]
    for kind, shape in FILES.items():
        text = json.dumps(to_json_schema(shape, f"diopigen {kind} file"), indent=1) + "\n"
        files.append(PlannedFile(f"schema/{kind}.schema.json", text.encode(), (), TARGET))
    return Plan(tuple(files))
