"""`diopigen.yaml` to a `Project`. It is YAML because the reader of specs gives every finding its line and column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from diopigen.diagnostics import Diagnostic, Failure, Severity, Sink, did_you_mean
from diopigen.project.grammar import FILE, IGNORE, PATHS, SHAPE
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import validate
from diopigen.spec.yaml_reader import load_yaml

RULES = {"unknown-severity-rule": "A rule whose severity diopigen.yaml sets is one that diopigen has."}

Value = Union[str, int, bool, list[str]]


@dataclass(frozen=True)
class Project:
    """The settings of a project. `values` has those that are defaults of options, by key; a severity of None hides."""

    file: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    severity: Mapping[str, Severity | None] = field(default_factory=dict)
    docs_url: str | None = None


def read_project(path: Path) -> Project:
    """The settings in a file. Raises `Failure` with all that is wrong with it."""
    sink = Sink()
    root = load_yaml(path, str(path), sink)
    if [finding.code for finding in sink.sorted()] == ["yaml-empty"]:  # comments, and no setting yet
        return Project(str(path))
    if root is None or not validate(root, SHAPE, f"the {FILE}", sink) or not isinstance(root, MappingNode):
        raise Failure(*sink.sorted())
    values = {
        key: _path(path, value) if key in PATHS else value
        for key, entry in root.entries.items()
        if key not in ("severity", "docs_url")
        for value in [_plain(entry.value)]
    }
    severity = root.get("severity")
    if isinstance(severity, MappingNode):
        _check_rules(severity, sink)
    if sink.has_errors:
        raise Failure(*sink.sorted())
    url = root.get("docs_url")
    return Project(str(path), values, _severities(severity), str(_plain(url)) if url else None)


def _path(file: Path, value: Value) -> str:
    """A path of the file, as seen from where diopigen was started."""
    return str(file.parent / str(value))


def _plain(node: Node) -> Value:
    if isinstance(node, SequenceNode):
        return [item.text for item in node if isinstance(item, ScalarNode)]
    assert isinstance(node, ScalarNode) and isinstance(node.value, str | int | bool)
    return node.value


def _check_rules(severity: MappingNode, sink: Sink) -> None:
    from diopigen.rulebook.rules import rule_names

    known = rule_names()
    for name, entry in severity.entries.items():
        if name not in known:
            fix = did_you_mean(name, known) or "`diopigen explain --rules` lists all rules"
            sink.add(
                Diagnostic(
                    "unknown-severity-rule", Severity.ERROR, f"there is no rule '{name}'", entry.key_span, (), fix
                )
            )


def _severities(node: Node | None) -> Mapping[str, Severity | None]:
    if not isinstance(node, MappingNode):
        return {}
    words = {rule: str(_plain(entry.value)) for rule, entry in node.entries.items()}
    return {rule: None if word == IGNORE else Severity(word) for rule, word in words.items()}
