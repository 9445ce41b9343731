"""Exclusions from the comparison with the CPU (exclusions.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from run_kind import WHOLE

FILE = Path(__file__).parent / "exclusions.yaml"
LISTED: dict[str, Any] = yaml.safe_load(FILE.read_text())


@dataclass(frozen=True)
class Exclusion:
    """Findings that do not count: of these entries and checks, where the text matches. With `bound`, only those of
    elements that are off by at most so much: noise of rounding, which another processor may not show."""

    entries: frozenset[str]
    checks: frozenset[str]
    says: re.Pattern[str]
    why: str
    bound: float | None = None

    def covers(self, check: str, text: str) -> bool:
        if check not in self.checks or self.says.search(text) is None:
            return False
        off = re.search(r": off by (\S+) from float64", text)
        return self.bound is None or (off is not None and float(off[1]) <= self.bound)


def is_random(section: str, name: str) -> bool:
    return name in LISTED["random"][section]


def listed(section: str) -> list[Exclusion]:
    """The exclusions of a section: operators, modules or optimizers."""
    return [
        Exclusion(
            frozenset(item["entries"]),
            frozenset(item["checks"]),
            re.compile(item["says"]),
            item["why"],
            item.get("bound"),
        )
        for item in LISTED[section]
    ]


def assert_only_excluded(section: str, name: str, found: Mapping[str, Iterable[str]]) -> None:
    """Fails where a finding is not excluded and, in the whole run, where an exclusion of the entry excludes nothing."""
    exclusions = [item for item in listed(section) if name in item.entries]
    findings = [(check, text) for check, texts in found.items() for text in texts]
    wrong = [pair for pair in findings if not any(item.covers(*pair) for item in exclusions)]
    assert not wrong, "\n".join(f"{check}: {text}" for check, text in wrong[:20])
    needless = [
        item.why for item in exclusions if item.bound is None and not any(item.covers(*pair) for pair in findings)
    ]
    assert not WHOLE or not needless, f"excludes nothing: take {name} out of exclusions.yaml: {needless}"


def assert_well_formed(section: str, names: Iterable[str], checks: Iterable[str]) -> None:
    """Every exclusion of a section names entries, checks and a reason."""
    assert set(LISTED["random"].get(section, ())) <= set(names)
    for item in listed(section):
        assert item.entries <= set(names) and item.entries and item.why
        assert item.checks <= set(checks) and item.checks
        assert not item.says.search(""), f"an expression that matches anything: {item.why}"
