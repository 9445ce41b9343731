"""Rules as text: the table of all, and one with its examples."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.rulebook.examples import examples, page_of
from diopigen.rulebook.rules import all_rules


def rules_table() -> str:
    """All rules, one a line, aligned."""
    rules = all_rules()
    width = max(map(len, rules))
    return "\n".join(f"{rule:<{width}}  {purpose}" for rule, purpose in rules.items())


_PARTS = {
    "params": "parameters of an operator",
    "entry": "keys of an operator",
    "operators": "operators of a file",
    "types": "types.yaml",
    "aten": "a file of aten/",
}
"""Names of the parts of files that examples show."""


def explain_rule(name: str) -> str | None:
    """A rule's purpose, an example and its page; None where `name` is no rule."""
    purpose = all_rules().get(name)
    if purpose is None:
        return None
    lines = [f"{name}: {purpose}", ""]
    example = examples().get(name)
    if example is not None and example.prose:
        lines += [f"  example: {example.prose}", ""]
    elif example is not None:
        before, after = _LABELS.get(example.read, ("bad", "good"))
        part = f" ({_PARTS[example.part]})" if example.part in _PARTS else ""
        lines += [f"  {before}{part}:", *_marked(example.bad, example.line), ""]
        lines += [f"  {after}:", *_marked(example.good, 0), ""]
    return "\n".join([*lines, f"  page: {page_of(name)}"])


_LABELS = {"breaking": ("after", "before")}


def _marked(text: str, line: int) -> Iterator[str]:
    """The lines of a snippet, the one that is at fault with an arrow."""
    for number, content in enumerate(text.rstrip("\n").split("\n"), 1):
        yield f"  {'->' if number == line else '  '} {content}".rstrip()
