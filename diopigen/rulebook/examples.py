"""A bad and a good example of a rule, and the page that explains it: the data of `examples/*.yaml` and `pages.yaml`.

A test gives each bad example to the code that reports the rule, and finds the rule at its line and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from diopigen.rulebook.rules import module_of

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """A bad and a good example of a rule. Only `prose` where no short text shows it."""

    rule: str
    read: str
    """Kind of the snippets: `spec`, `convert_config`, ..., the name of a reader."""
    part: str
    """The part of a file that the snippets are, such as `params`; empty for whole files."""
    bad: str
    good: str
    line: int
    """The line of `bad` that the finding is at, from 1."""
    page: str
    """`docs/spec.md#dtype`, from the root of the project."""
    prose: str
    setting: Mapping[str, Any]
    """Further settings of the reader: other rules that report the same (`notes`), missing parts of a vendor."""


@cache
def examples() -> Mapping[str, Example]:
    """The examples of all rules that have one, by rule."""
    found: dict[str, Example] = {}
    for path in sorted((_FOLDER / "examples").glob("*.yaml")):
        table = _load(path)
        for rule, fields in table["examples"].items():
            assert rule not in found, f"{rule} has two examples"
            found[rule] = _example(rule, table, dict(fields))
    return found


def _example(rule: str, table: Mapping[str, Any], fields: dict[str, Any]) -> Example:
    texts = {name: fields.pop(name, "") for name in ("bad", "good", "prose")}
    return Example(
        rule,
        read=table["read"],
        part=fields.pop("in", ""),
        line=fields.pop("line", 0),
        page=fields.pop("page", table["page"]),
        setting=fields,
        **texts,
    )


def page_of(rule: str) -> str:
    """The page that explains a rule, from the root of the project: `docs/spec.md#dtype`."""
    example = examples().get(rule)
    if example is not None:
        return example.page
    module = module_of(rule)
    return max(
        ((prefix, page) for prefix, page in _pages().items() if f"{module}.".startswith(f"{prefix}.")),
        key=lambda entry: len(entry[0]),
    )[1]


def address_of(rule: str, site: str | None) -> str:
    """The absolute address of what explains a rule: its line of the rules on a published site, else the page in the
    checkout that diopigen runs from; empty where there is neither."""
    if site is not None:
        return f"{site.rstrip('/')}/rules.html#{rule}"
    file, _, anchor = page_of(rule).partition("#")
    path = _FOLDER.parents[1] / file
    return f"{path.as_uri()}#{anchor}".rstrip("#") if path.is_file() else ""


@cache
def _pages() -> Mapping[str, str]:
    pages: Mapping[str, str] = _load(_FOLDER / "pages.yaml")
    return pages


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
