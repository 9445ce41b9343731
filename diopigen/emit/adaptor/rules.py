"""The constant tables of the shims: what a configuration demands of one tensor, in the words of the adaptor core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.config.model import TensorRule
from diopigen.emit.c_text import COLUMNS
from diopigen.ir.model import Interface

RANKS = 7
"""Ranks 0 to 5, and one entry for all above."""
IMAGE_RANKS = (3, 4, 5)
"""Ranks with a batch and channels."""
LAYOUTS = ("row_major", "channels_last")
"""Formats that a kernel may require."""

_ROW_MAJOR, _CHANNELS_LAST, _RATHER_CHANNELS_LAST = 1, 2, 4
_FORMAT_OF = {
    "NCL": (3, _ROW_MAJOR),
    "NLC": (3, _CHANNELS_LAST),
    "NCHW": (4, _ROW_MAJOR),
    "NHWC": (4, _CHANNELS_LAST),
    "NCDHW": (5, _ROW_MAJOR),
    "NDHWC": (5, _CHANNELS_LAST),
}
_WORDS = {
    _ROW_MAJOR: "kRowMajor",
    _CHANNELS_LAST: "kChannelsLast",
    _ROW_MAJOR | _CHANNELS_LAST: "kRowMajor | kChannelsLast",
    _ROW_MAJOR | _CHANNELS_LAST | _RATHER_CHANNELS_LAST: "kRowMajor | kChannelsLast | kRatherChannelsLast",
}


@dataclass(frozen=True, slots=True)
class Demand:
    """Rule of a tensor: casts as pairs of dtype names in the order of the enum, formats as bits by rank."""

    casts: tuple[tuple[str, str], ...]
    formats: tuple[int, ...]
    max_rank: int = 0
    """0 for any number of dimensions."""
    alignment: int = 1

    @property
    def is_empty(self) -> bool:
        return not self.casts and not any(self.formats) and not self.max_rank and self.alignment == 1

    def layout(self, rank: int) -> str:
        """The one of `LAYOUTS` that a tensor of a rank must have; empty where there is a choice."""
        return dict(zip((_ROW_MAJOR, _CHANNELS_LAST), LAYOUTS, strict=True)).get(self.formats[rank], "")


NOTHING = Demand((), (0,) * RANKS)


def demand(rule: TensorRule, dtypes: Sequence[str]) -> Demand:
    """Requirements of a rule. `dtypes` are the names of all dtypes in the order of the enum."""
    order = {name: position for position, name in enumerate(dtypes)}
    casts = {cast.source: cast.target for cast in rule.casts if cast.source != cast.target}
    pairs = sorted(casts.items(), key=lambda pair: order[pair[0]])
    formats = tuple(_formats(rule, rank) for rank in range(RANKS))
    return Demand(tuple(pairs), formats, rule.max_rank or 0, rule.alignment)


def formats_of_rule(rule: TensorRule, rank: int) -> tuple[bool, bool]:
    """Returns whether a rule names row-major and channels-last strides for a rank; neither where it allows any."""
    formats = _formats(rule, rank)
    return bool(formats & _ROW_MAJOR), bool(formats & _CHANNELS_LAST)


def _formats(rule: TensorRule, rank: int) -> int:
    """The formats allowed for a rank; 0 where the strides may be anything."""
    if rank == 0:
        return 0
    formats = _formats_of(rule.layouts, rank)
    if formats is None:
        formats = _formats_of(rule.common_layouts, rank)
    return formats or (_ROW_MAJOR if rule.contiguous else 0)


def _formats_of(layouts: Sequence[str], rank: int) -> int | None:
    """Entry of a list for a rank, None if there is none.

    The names of a rank speak for it. NCL, NCHW and NCDHW mean row-major: one of them speaks for every rank that the
    list does not name otherwise, as vendors' files have always meant it. ND allows everything.
    """
    if "ND" in layouts:
        return 0
    named = [_FORMAT_OF[name][1] for name in layouts if _FORMAT_OF[name][0] == rank]
    if named:
        formats = 0
        for each in named:
            formats |= each
        both = formats == _ROW_MAJOR | _CHANNELS_LAST
        return formats | _RATHER_CHANNELS_LAST if both and named[0] == _CHANNELS_LAST else formats
    return _ROW_MAJOR if any(_FORMAT_OF[name][1] == _ROW_MAJOR for name in layouts) else None


class RuleTable:
    """The distinct demands of a vendor, numbered in the order in which they were first met."""

    def __init__(self, interface: Interface) -> None:
        self._dtypes = [info.name for info in interface.dtypes]
        self._enums: Mapping[str, str] = {info.name: info.enum for info in interface.dtypes}
        self._names: dict[Demand, str] = {}

    def demand(self, rule: TensorRule | None) -> Demand:
        """Resolved rule of a tensor."""
        return NOTHING if rule is None else demand(rule, self._dtypes)

    def name(self, rule_demand: Demand) -> str:
        """The constant that stands for a demand."""
        return self._names.setdefault(rule_demand, f"rule{len(self._names) + 1}")

    def definitions(self) -> list[str]:
        """The C++ definitions of all constants."""
        return [_definition(name, rule_demand, self._enums) for rule_demand, name in self._names.items()]


def _definition(name: str, rule_demand: Demand, enums: Mapping[str, str]) -> str:
    calls = [f".cast({enums[source]}, {enums[target]})" for source, target in rule_demand.casts]
    own = rule_demand.formats[1:]
    if own[0] and len(set(own)) == 1:
        calls.append(f".every_rank({_WORDS[own[0]]})")
    else:
        calls += [f".layout({rank}, {_WORDS[bits]})" for rank, bits in enumerate(rule_demand.formats) if bits]
    calls += [f".up_to({rule_demand.max_rank})"] if rule_demand.max_rank else []
    calls += [f".aligned({rule_demand.alignment})"] if rule_demand.alignment > 1 else []
    head = f"constexpr Rule {name} = Rule()"
    line = f"{head}{''.join(calls)};"
    if len(line) <= COLUMNS:
        return line
    indent = " " * (len(head) - 2)
    return "\n".join([head, *(f"{indent}{call}" for call in calls)]) + ";"
