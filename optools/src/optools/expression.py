"""Selection of calls: expressions for names, and ranges of steps."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class ExpressionError(ValueError):
    """An expression that cannot be read; the text names it."""


class Names:
    """Regular expressions for full names, separated by commas: `mm,add.*,torch.nn.functional.linear`.

    A name is written out, so that a dot in it means itself; any other sign of a regular expression makes it one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        words = [word.strip() for word in _split(text)]
        try:
            self.patterns = {word: re.compile(_pattern(word)) for word in words if word}
        except re.error as reason:
            raise ExpressionError(f"'{text}' is no regular expression: {reason}") from None
        self.unmatched = set(self.patterns)
        """Expressions that no name has matched so far."""
        self._known: dict[str, bool] = {}

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def match(self, name: str) -> bool:
        """Returns whether one of the expressions is the full name."""
        found = self._known.get(name)
        if found is None:
            matching = {word for word, pattern in self.patterns.items() if pattern.fullmatch(name)}
            self.unmatched -= matching
            found = self._known[name] = bool(matching)
        return found

    def require_known(self, kind: str, names: Iterable[str] = ()) -> None:
        """Raises `ExpressionError` for an expression that matches none of `names` and no name before."""
        for name in names if self.unmatched else ():
            self.match(name)
        for word in sorted(self.unmatched):
            near = difflib.get_close_matches(word, self._known, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ExpressionError(f"no {kind} matches '{word}'{hint}")

    def any(self, names: Iterable[str]) -> bool:
        """Returns whether one of the names matches."""
        return any(self.match(name) for name in names)


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    words, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += sign
    return words


def _pattern(word: str) -> str:
    plain = re.fullmatch(r"[\w.:]+", word)
    return re.escape(word) if plain else word


@dataclass(frozen=True)
class Steps:
    """Steps as Python slices and numbers, separated by commas: `0`, `3:10`, `::100`, `5,7`."""

    ranges: Sequence[tuple[int, int | None, int]]

    @classmethod
    def of(cls, text: str | int | None) -> Steps:
        """Reads the text; nothing means every step. Raises `ExpressionError`."""
        if text is None or text == "":
            return cls(((0, None, 1),))
        ranges: list[tuple[int, int | None, int]] = []
        for word in str(text).split(","):
            parts = word.strip().split(":")
            try:
                numbers = [int(part) if part else None for part in parts]
            except ValueError:
                raise ExpressionError(f"'{text}' is no range of steps: write 3, 3:10 or ::100") from None
            if len(numbers) > 3 or any(number is not None and number < 0 for number in numbers) or numbers[2:] == [0]:
                raise ExpressionError(f"'{text}' is no range of steps: write 3, 3:10 or ::100")
            if len(numbers) == 1:
                if numbers[0] is None:
                    raise ExpressionError(f"'{text}' is no range of steps: write 3, 3:10 or ::100")
                ranges.append((numbers[0], numbers[0] + 1, 1))
            else:
                stride = numbers[2] if len(numbers) == 3 and numbers[2] is not None else 1
                ranges.append((numbers[0] or 0, numbers[1], stride))
        return cls(tuple(ranges))

    def contain(self, step: int) -> bool:
        """Returns whether the step is in one of the ranges."""
        return any(
            step >= start and (stop is None or step < stop) and (step - start) % stride == 0
            for start, stop, stride in self.ranges
        )

    @property
    def all(self) -> bool:
        """Returns whether every step is meant."""
        return (0, None, 1) in self.ranges
