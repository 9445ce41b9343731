"""What the suite is told of the vendor's side: the folder with kernels and configuration, and the chip's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.chip.accuracy import Declaration
    from diopigen.config.model import ResolvedConfig
    from diopigen.conformance.model import Case
    from diopigen.ir.model import Interface

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class VendorSide:
    """What the chip's file declares of results, and what the shims convert."""

    accuracy: Sequence[Declaration] = ()
    resolved: ResolvedConfig | None = None

    def converted(self, cases: list[Case], interface: Interface) -> list[Case]:
        """The cases with what the shims do to them."""
        from diopigen.conformance.cases.conversions import with_conversions

        if self.resolved is None:
            return cases
        return with_conversions(cases, self.resolved.functions, self.resolved.implemented, interface)


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
    from diopigen.chip.reader import read_chip
    from diopigen.vendor.chip_config import chip_of
    from diopigen.vendor.shims import Vendor, resolved_config, vendor_name

    interface = session.load().interface
    resolved = chip = None
    if impl is not None:
        folder = Path(impl)
        vendor = Vendor(folder, vendor_name(folder))
        resolved = resolved_config(interface, session.workspace(), vendor, (), session.sink)
        chip = chip_of(folder, vendor.name, interface, session.sink)
    if chip_file is not None:
        chip = read_chip(Path(chip_file), chip_file, interface, session.sink)
    if session.sink.has_errors:
        session.finish()
    return VendorSide(() if chip is None else chip.accuracy, resolved)
