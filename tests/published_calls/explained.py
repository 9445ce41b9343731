"""Why calls of the published suite are refused or give something else: tests/data/published_calls/explained.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import yaml
from outcomes import Outcome
from published_calls import FOLDER

_COMPARED = ("not asked", "refuses")
"""Words that the message begins with where PyTorch gives nothing to compare."""


@cache
def entries() -> Sequence[Mapping[str, Any]]:
    """The explanations: `functions` without diopi, `outcome` (`refused`, `differs` or `torch`), a pattern of its
    message, a reason."""
    found: Sequence[Mapping[str, Any]] = yaml.safe_load((FOLDER / "explained.yaml").read_text(encoding="utf-8"))
    return found


def findings(one: Outcome) -> list[tuple[str, str]]:
    """Key of an explanation: the outcome's word and its message."""
    found = [(one.kind, one.message)] if one.kind != "passed" else []
    if one.torch and not one.torch.startswith(_COMPARED):
        found.append(("torch", one.torch))
    return found


def explains(entry: Mapping[str, Any], one: Outcome, word: str, message: str) -> bool:
    """Returns whether an explanation is about an outcome."""
    is_named = any(fnmatchcase(one.function.removeprefix("diopi"), name) for name in entry["functions"])
    return is_named and entry["outcome"] == word and re.search(entry["message"], message) is not None


def unneeded(found: Sequence[Outcome], *, with_torch: bool) -> list[Mapping[str, Any]]:
    """The explanations about functions of these outcomes that explain none of them."""
    functions = {one.function.removeprefix("diopi") for one in found}
    return [
        entry
        for entry in entries()
        if functions.intersection(entry["functions"])
        and (with_torch or entry["outcome"] != "torch")
        and not any(explains(entry, one, *finding) for one in found for finding in findings(one))
    ]


def reason_of(one: Outcome) -> str | None:
    """The reasons of an outcome: empty where it needs none, None where one is missing."""
    reasons = []
    for word, message in findings(one):
        reason = next((entry["reason"] for entry in entries() if explains(entry, one, word, message)), None)
        if reason is None:
            return None
        reasons.append(reason)
    return "; ".join(dict.fromkeys(reasons))
