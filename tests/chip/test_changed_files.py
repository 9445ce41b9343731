"""A chip's file, or a configuration, with one change ends in findings that have a position, or makes shims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sampling import examples, picked
from yaml_changes import changed, changes

from diopigen.chip.reader import parse_chip
from diopigen.config.reader import parse_config
from diopigen.diagnostics import Diagnostic, Failure, Sink
from diopigen.emit.adaptor.library import emit_adaptors
from diopigen.emit.chip.header import emit_chip
from diopigen.ir.model import Interface
from diopigen.rulebook.rules import all_rules
from diopigen.vendor.shims import resolved_for

ROOT = Path(__file__).resolve().parents[2]
CHIP = (ROOT / "examples/kestrel/kestrel.yaml").read_text()
CONFIG = """\
- common_config:
    dtype: (int64)->int32, (float64)->float32
    layout: NHWC, input(NCHW)
- family:
    name: convolution
    contiguous: true
- diopiConvolution2d:
    tensor_dtype:
      input: (float16, bfloat16)->float32
    layout: NHWC
"""
IMPLEMENTED = ("diopiAdd", "diopiConvolution2d", "diopiIndexSelect", "diopiMaxPool2d")


def found(chip: str, config: str, interface: Interface) -> list[Diagnostic]:
    """All findings; where no error is among them, the header and the shims follow."""
    sink = Sink()
    try:
        read = parse_chip(chip, "kestrel.yaml", interface, sink)
        settings = parse_config(config, "convert_config.yaml", sink)
        if read is None or settings is None:
            assert sink.has_errors
            return sink.sorted()
        emit_chip(read, ROOT / "templates", "diopigen chip kestrel.yaml")
        resolved = resolved_for(interface, "kestrel", settings, IMPLEMENTED, sink, read)
        if not sink.has_errors:
            assert emit_adaptors(interface, resolved, ROOT / "templates").files
    except Failure as fault:
        sink.extend(fault.diagnostics)
    return sink.sorted()


READ: dict[str, Callable[[str, Interface], list[Diagnostic]]] = {
    CHIP: lambda text, interface: found(text, CONFIG, interface),
    CONFIG: lambda text, interface: found(CHIP, text, interface),
}


@pytest.mark.parametrize(("text", "fraction"), [(CHIP, 20), (CONFIG, 10)], ids=["chip", "convert_config"])
def test_one_change_is_reported_and_never_raised(text: str, fraction: int, interface: Interface) -> None:
    for change in changes(text):
        if examples(4) < 4 and not picked(str(change), fraction):
            continue
        try:
            findings = READ[text](changed(text, change), interface)
        except Exception as error:
            raise AssertionError(str(change)) from error
        incomplete = [one for one in findings if one.code not in all_rules() or one.span is None or not one.fix]
        assert incomplete == [], str(change)
