"""The options of the suite that name the vendor's folder and the chip's file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from diopigen.commands.conformance_options import with_options
from diopigen.commands.grouped import group
from diopigen.conformance.vendor_side import VendorSide
from diopigen.console import Session

_Command = TypeVar("_Command", bound=Callable[..., Any])


_OPTIONS = {
    "impl": click.option("--impl", metavar="DIR", hidden=True),
    "chip": click.option("--chip", "chip_file", metavar="FILE", hidden=True),
    "device": click.option("--device", default="", metavar="VENDOR", hidden=True),
    "exceptions": click.option("--exceptions", "exceptions_file", metavar="FILE", hidden=True),
}
_ABOUT = {
    "impl": "impl=DIR, the vendor's folder impl/NAME: calls that its shims convert are validated as such, and its "
    "chip's file counts",
    "chip": "chip=FILE: results are held to the accuracy that this chip's file declares",
    "device": "device=NAME: insist on this vendor's library and device memory",
    "exceptions": "exceptions=FILE: known exceptions (YAML)",
}


def vendor_options(*more: str) -> Callable[[_Command], _Command]:
    """The options that name the vendor's folder and the chip's file; `more`: other keys of `--vendor`."""
    names = ("impl", "chip", *more)
    about = "; ".join(_ABOUT[name] for name in names)
    vendor = group("--vendor", about, {name: f"--{name}" for name in names})
    return lambda command: with_options(command, vendor, *(_OPTIONS[name] for name in names))


def vendor_side(session: Session, impl: str | None, chip_file: str | None) -> VendorSide:
    """Reads the files of the options; an error in them ends the command."""
    if impl is None and chip_file is None:
        return VendorSide()
    from diopigen.vendor.side import read_vendor_side

    side = read_vendor_side(session.load().interface, session.workspace(), impl, chip_file, session.sink)
    if session.sink.has_errors:
        session.finish()
    return side
