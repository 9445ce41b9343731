"""The options of the suite that name the vendor's folder and the chip's file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from diopigen.conformance.vendor_side import VendorSide
from diopigen.console import Session

_Command = TypeVar("_Command", bound=Callable[..., Any])


def vendor_options(command: _Command) -> _Command:
    """The options that name the vendor's folder and the chip's file."""
    impl = "The vendor's folder, impl/NAME: calls that its shims convert are validated as such; its chip's file counts."
    chip = "The chip's file (default: that of --impl): results are held to the accuracy that it declares."
    command = click.option("--chip", "chip_file", metavar="FILE", help=chip)(command)
    return click.option("--impl", metavar="DIR", help=impl)(command)


def vendor_side(session: Session, impl: str | None, chip_file: str | None) -> VendorSide:
    """What the options name; what is wrong with the files ends the command."""
    if impl is None and chip_file is None:
        return VendorSide()
    from diopigen.vendor.side import read_vendor_side

    side = read_vendor_side(session.load().interface, session.workspace(), impl, chip_file, session.sink)
    if session.sink.has_errors:
        session.finish()
    return side
