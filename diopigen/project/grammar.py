"""The grammar of `diopigen.yaml`, and which options of which commands its keys are the defaults of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diopigen.diagnostics import Severity
from diopigen.findings.render import FORMATS
from diopigen.spec.schema import (
    BooleanShape,
    Field,
    IntegerShape,
    ListShape,
    MapShape,
    RecordShape,
    TextShape,
    to_json_schema,
)

FILE = "diopigen.yaml"
KIND = "project"
IGNORE = "ignore"
"""The severity of findings that are not shown. It is not `off`, which YAML 1.1 reads as a bool."""

_TEXT = TextShape()
_SEVERITY = TextShape(choices=(*(severity.value for severity in Severity), IGNORE))

SHAPE = RecordShape(
    "project",
    {
        "spec": Field(_TEXT, "the folder of the spec"),
        "templates": Field(_TEXT, "the folder of the templates"),
        "out": Field(_TEXT, "the folder that `generate` writes"),
        "targets": Field(ListShape(_TEXT, non_empty=True), "what `generate` writes"),
        "vendor": Field(_TEXT, "the folder of a vendor's sources (impl/NAME)"),
        "jobs": Field(IntegerShape(1), "processes of the conformance suite"),
        "format": Field(TextShape(choices=FORMATS), "how findings are shown"),
        "strict": Field(BooleanShape(), "whether warnings fail a run"),
        "docs_url": Field(
            TextShape(r"https?://\S+", what="an http address"), "where the site that `docs` writes is published"
        ),
        "severity": Field(
            MapShape(_SEVERITY, key_pattern=r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"),
            f"the severity of rules: error, warning, note or {IGNORE}",
        ),
    },
)

_DIRECTORY = ("check-impl", "coverage", "doctor", "sync", "adaptors", "elementwise")
DEFAULTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "out": [("generate", "out")],
    "targets": [("generate", "selected")],
    "vendor": [(command, "directory") for command in _DIRECTORY],
    "jobs": [("conformance run", "jobs")],
}
"""The commands whose parameter a key is the default of; `COMMON` are those of all commands that have them."""
COMMON: Mapping[str, str] = {"spec": "spec", "templates": "templates", "format": "output_format", "strict": "strict"}
PATHS = frozenset({"spec", "templates", "out", "vendor"})
"""Keys whose values are relative to the folder of the file."""


def json_schema() -> dict[str, Any]:
    """The grammar as a JSON Schema."""
    return to_json_schema(SHAPE, f"{FILE} of a project")
