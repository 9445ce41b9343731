"""Every rule that diopigen reports, found in the `RULES` tables of its modules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

import diopigen


def all_rules() -> Mapping[str, str]:
    """Every rule id with its purpose, sorted. Imports the whole package, which takes a second."""
    return {rule: purpose for rule, (purpose, _) in _found().items()}


def rule_names() -> frozenset[str]:
    """The ids of all rules. They are cached under a digest of diopigen's sources, so that a command need not import all
    of them to know a name."""
    from diopigen.output import cache

    try:
        key = cache.key_of((), ())
    except OSError:
        return frozenset(all_rules())
    stored: frozenset[str] | None = cache.read("rules", key)
    if stored is None:
        stored = frozenset(all_rules())
        cache.write("rules", key, stored)
    return stored


def module_of(rule: str) -> str:
    """The module whose table has a rule, such as `diopigen.check.names`. Raises `KeyError`."""
    return _found()[rule][1]


_WITHOUT = ("diopigen.pytest_", "diopigen.conformance.aten.program")
"""Modules without rules that need pytest or torch, which diopigen itself does not."""


@cache
def _found() -> Mapping[str, tuple[str, str]]:
    """Purpose and module of each rule: the public `RULES` tables of all modules."""
    found: dict[str, tuple[str, str]] = {}
    for info in pkgutil.walk_packages(diopigen.__path__, "diopigen."):
        if info.name in ("diopigen.__main__", "diopigen.cli") or info.name.startswith(_WITHOUT):
            continue
        module = importlib.import_module(info.name)
        for name, table in vars(module).items():
            if name.endswith("RULES") and not name.startswith("_") and isinstance(table, Mapping):
                for rule, value in table.items():
                    if _purpose(value):
                        found.setdefault(rule, (_purpose(value), info.name))
    return dict(sorted(found.items()))


def _purpose(value: object) -> str:
    """The purpose in an entry of a rule table; empty for tables that are about something else."""
    purpose = getattr(value, "purpose", value)
    return purpose if isinstance(purpose, str) else ""
