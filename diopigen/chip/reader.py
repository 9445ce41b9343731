"""A chip's file to a `Chip`: grammar first, then what names and numbers mean together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from diopigen.chip.accuracy import Declaration, covered, elementary_calls
from diopigen.chip.accuracy_reader import read_accuracy
from diopigen.chip.grammar import shape
from diopigen.chip.model import LARGEST_ALIGNMENT, Chip, NativeOperator, Peaks
from diopigen.config.grammar import is_operator
from diopigen.diagnostics import Correction, Note, Sink, Span, did_you_mean
from diopigen.ir.model import Interface
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import validate
from diopigen.spec.yaml_reader import load_yaml, parse_yaml

RULES = {
    "chip-unknown-operator": "A native operator of a chip is a function of the interface that vendors implement.",
    "chip-operator-twice": "A native operator of a chip is in one group, once.",
    "chip-word-twice": "A dtype or layout of a chip is listed once.",
    "chip-rank-beyond": "The kernels of an operator take no more dimensions than the chip does.",
    "chip-layout-idle": "The layout ND, which accepts any layout, is the only one.",
    "chip-accuracy-uncovered": "An entry of `accuracy` holds for a native operator, where the chip lists them.",
    "chip-alignment": "An alignment is a power of two, and at most that of an allocation (512) or of the chip.",
}


def read_chip(path: Path, display: str, interface: Interface, sink: Sink) -> Chip | None:
    """The chip of a file; None where something is wrong with it, which goes to `sink`. `display` names the file."""
    return _chip(load_yaml(path, display, sink), display, interface, sink, {})


def parse_chip(
    text: str, display: str, interface: Interface, sink: Sink, renamed: Mapping[str, str] = MappingProxyType({})
) -> Chip | None:
    """As `read_chip`, of a text. `renamed` are old names of functions to new ones."""
    return _chip(parse_yaml(text, display, sink), display, interface, sink, renamed)


def _chip(root: Node | None, display: str, interface: Interface, sink: Sink, renamed: Mapping[str, str]) -> Chip | None:
    dtypes = [dtype.name for dtype in interface.dtypes]
    if root is None or not validate(root, shape(dtypes), "the chip's file", sink):
        return None
    assert isinstance(root, MappingNode)
    found = Sink()
    chip = _Reader(root, interface, found, renamed).chip(display)
    sink.extend(found.sorted())
    return None if found.has_errors else chip


class _Reader:
    """A file that the grammar has accepted."""

    def __init__(self, root: MappingNode, interface: Interface, sink: Sink, renamed: Mapping[str, str]) -> None:
        self.renamed = renamed
        self.root = root
        self.interface = interface
        self.operators = [function.name for function in interface.functions if is_operator(function)]
        self.sink = sink
        self.first: dict[str, Span] = {}

    def chip(self, display: str) -> Chip:
        self._listed_once(self.root.get("dtypes"))
        self._alignment(_scalar(self.root, "alignment"))
        groups = self.root.get("operators")
        native = [one for group in _items(groups) for one in self._group(group)]
        memory = self.root.get("memory")
        accuracy = read_accuracy(self.root.get("accuracy"), self.interface, self.sink)
        self._uncovered(accuracy, {one.name for one in native})
        return Chip(
            name=str(_scalar(self.root, "chip").value),
            doc=str(_scalar(self.root, "doc").value),
            dtypes=tuple(_texts(self.root.get("dtypes"))),
            max_rank=_number(_scalar(self.root, "max_rank")),
            alignment=_number(_scalar(self.root, "alignment")),
            memory=None if memory is None else _number(memory),
            operators=tuple(sorted(native, key=lambda one: one.name)),
            file=display,
            contiguous=bool(_flag(self.root, "contiguous")),
            accuracy=accuracy,
            peaks=_peaks(self.root.get("peaks")),
        )

    def _uncovered(self, accuracy: Sequence[Declaration], native: Collection[str]) -> None:
        """Warns of entries that no native operator is held to, of a chip that lists its operators."""
        functions = [function for function in self.interface.functions if function.name in native]
        for entry in accuracy if native else ():
            if not covered(entry, accuracy, functions):
                called = {name for function in functions for name in elementary_calls(function)}
                rest = f"; their kernels call {', '.join(sorted(called))}" if entry.elementary and called else ""
                message = f"no native operator of the chip is held to this entry ({entry})"
                fix = f"name what native operators compute with, or take it out{rest}"
                self.sink.warning("chip-accuracy-uncovered", message, entry.span, fix=fix)

    def _group(self, group: Node) -> Iterator[NativeOperator]:
        assert isinstance(group, MappingNode)
        dtypes, layouts, rank = group.get("dtypes"), group.get("layouts"), group.get("max_rank")
        self._listed_once(dtypes)
        self._listed_once(layouts)
        self._layouts(layouts)
        alignment = group.get("alignment")
        if isinstance(alignment, ScalarNode):
            self._group_alignment(alignment)
        if rank is not None and _number(rank) > _number(_scalar(self.root, "max_rank")):
            message = (
                f"{_number(rank)} dimensions are more than the {_number(_scalar(self.root, 'max_rank'))} of the chip"
            )
            self.sink.error("chip-rank-beyond", message, rank.span, fix="give fewer, or leave 'max_rank' out")
        for name in _items(group.get("names")):
            assert isinstance(name, ScalarNode)
            if self._known_once(name):
                yield NativeOperator(
                    str(name.value),
                    tuple(_texts(dtypes)),
                    tuple(layout for layout in _texts(layouts) if layout != "ND"),
                    None if rank is None else _number(rank),
                    _flag(group, "contiguous"),
                    None if alignment is None else _number(alignment),
                    name.span,
                )

    def _known_once(self, node: ScalarNode) -> bool:
        name = str(node.value)
        if name not in self.operators:
            fix = (
                self._renamed(name)
                or did_you_mean(name, self.operators)
                or "`diopigen explain NAME` knows the functions of the interface"
            )
            self.sink.error("chip-unknown-operator", f"there is no operator '{name}'", node.span, fix=fix)
            return False
        if name in self.first:
            notes = [Note("first given here", self.first[name])]
            self.sink.error(
                "chip-operator-twice",
                f"'{name}' is given twice",
                node.span,
                notes=notes,
                fix=Correction.of("keep one", name, ""),
            )
            return False
        self.first[name] = node.span
        return True

    def _renamed(self, name: str) -> Correction | None:
        new = self.renamed.get(name)
        return None if new is None else Correction.of(f"it was renamed to '{new}'", name, new)

    def _listed_once(self, words: Node | None) -> None:
        seen: set[str] = set()
        for node in _items(words):
            assert isinstance(node, ScalarNode)
            word = str(node.value)
            if word in seen:
                self.sink.error(
                    "chip-word-twice", f"'{word}' is listed twice", node.span, fix=Correction.of("keep one", word, "")
                )
            seen.add(word)

    def _layouts(self, layouts: Node | None) -> None:
        words = _texts(layouts)
        if layouts is not None and "ND" in words and len(words) > 1:
            message = "ND takes whatever comes, so that the other layouts mean nothing"
            self.sink.error("chip-layout-idle", message, layouts.span, fix="keep ND alone, or take it out")

    def _group_alignment(self, node: ScalarNode) -> None:
        self._alignment(node)
        of_chip = _number(_scalar(self.root, "alignment"))
        if _number(node) > of_chip:
            message = f"{_number(node)} bytes are more than the {of_chip} of the chip"
            fix = "give fewer, or leave 'alignment' out"
            self.sink.error("chip-alignment", message, node.span, fix=fix)

    def _alignment(self, node: ScalarNode) -> None:
        bytes_ = _number(node)
        if bytes_ > LARGEST_ALIGNMENT or bytes_ & (bytes_ - 1):
            message = f"{bytes_} bytes cannot be an alignment"
            fix = f"give a power of two up to {LARGEST_ALIGNMENT}"
            self.sink.error("chip-alignment", message, node.span, fix=fix)


def _peaks(node: Node | None) -> Peaks:
    if not isinstance(node, MappingNode):
        return Peaks()
    bandwidth, cache, rates = (node.get(key) for key in ("bandwidth", "cache", "operations"))
    entries = rates.entries if isinstance(rates, MappingNode) else {}
    return Peaks(
        None if bandwidth is None else _number(bandwidth),
        None if cache is None else _number(cache),
        {dtype: _number(entry.value) for dtype, entry in entries.items()},
    )


def _items(node: Node | None) -> Iterable[Node]:
    return node.items if isinstance(node, SequenceNode) else ()


def _texts(node: Node | None) -> list[str]:
    return [str(item.value) for item in _items(node) if isinstance(item, ScalarNode)]


def _scalar(node: MappingNode, key: str) -> ScalarNode:
    value = node.get(key)
    assert isinstance(value, ScalarNode)  # the grammar has been checked
    return value


def _flag(node: MappingNode, key: str) -> bool | None:
    value = node.get(key)
    return bool(value.value) if isinstance(value, ScalarNode) else None


def _number(node: Node) -> int:
    assert isinstance(node, ScalarNode) and isinstance(node.value, int)
    return node.value
