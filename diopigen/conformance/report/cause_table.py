"""The table of likely causes: what failures have in common, and what is usually wrong then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Cause:
    """A row of `causes.yaml`."""

    code: str
    sign: str
    text: str

    @property
    def record(self) -> dict[str, str]:
        """The cause in a structured report."""
        return {"code": self.code, "text": self.text}


CAUSES = tuple(
    Cause(**row) for row in yaml.safe_load(Path(__file__).with_name("causes.yaml").read_text(encoding="utf-8"))
)
CAUSE_OF: Mapping[str, Cause] = {cause.code: cause for cause in CAUSES}


def as_markdown() -> str:
    """The table of the documentation."""
    rows = [f"| `{one.code}` | {_general(one.sign)} | {_general(one.text)} |" for one in CAUSES]
    return "\n".join(["| cause | failures have in common | usually |", "| --- | --- | --- |", *rows]) + "\n"


_GENERAL = {": {0}": "", "`{0}`": "`x`", "{0} is": "an operand is", "{0}": "n", "|": "\\|"}


def _general(text: str) -> str:
    """The text without what only failures show."""
    for special, word in _GENERAL.items():
        text = text.replace(special, word)
    return text
