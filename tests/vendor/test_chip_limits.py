"""Ranks and alignment of a chip's file in the rules of shims, and what contradicts them."""

from __future__ import annotations

from diopigen.chip.reader import parse_chip
from diopigen.config.model import ResolvedConfig
from diopigen.config.reader import parse_config
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.vendor.shims import resolved_for

CHIP = """\
chip: pebble
doc: A chip.
dtypes: [float32, float16]
max_rank: 6
alignment: 64
operators:
  - names: [diopiRelu, diopiContiguous]
  - names: [diopiMm]
    max_rank: 2
    alignment: 16
  - names: [diopiCopyInp, diopiCastDtype]
    alignment: {movers}
"""
IMPLEMENTED = ("diopiRelu", "diopiMm", "diopiCopyInp", "diopiCastDtype", "diopiContiguous")


def resolved(movers: str, interface: Interface, sink: Sink) -> ResolvedConfig:
    chip = parse_chip(CHIP.format(movers=movers), "pebble.yaml", interface, sink)
    config = parse_config("", "convert_config.yaml", sink)
    assert chip is not None and config is not None
    return resolved_for(interface, "pebble", config, IMPLEMENTED, sink, chip)


def test_a_group_says_more_than_the_chip_and_movers_have_no_limits(interface: Interface) -> None:
    rules = {rule.function: rule for rule in resolved("1", interface, Sink()).functions}
    limits = {
        name: {(tensor.max_rank, tensor.alignment) for tensor in rules[name].tensors}
        for name in ("diopiRelu", "diopiMm", "diopiCopyInp")
    }
    assert limits == {"diopiRelu": {(6, 64)}, "diopiMm": {(2, 16)}, "diopiCopyInp": {(None, 1)}}


def test_what_shims_copy_with_cannot_need_aligned_buffers(interface: Interface) -> None:
    sink = Sink()
    resolved("32", interface, sink)
    found = [one for one in sink.sorted() if one.code == "chip-mover-limits"]
    assert [(one.span.line, one.message.split()[0]) for one in found if one.span] == [
        (7, "diopiContiguous"),
        (11, "diopiCopyInp"),
        (11, "diopiCastDtype"),
    ]


def test_the_alignment_of_a_group_is_within_that_of_the_chip(interface: Interface) -> None:
    for movers, message in (("128", "128 bytes are more than the 64 of the chip"), ("3", "3 bytes cannot be")):
        sink = Sink()
        assert parse_chip(CHIP.format(movers=movers), "pebble.yaml", interface, sink) is None
        assert [(one.code, one.span.line) for one in sink.sorted() if one.span] == [("chip-alignment", 12)]
        assert message in sink.sorted()[0].message
