"""Reads the vendor's side of a run of the suite: the folder with kernels and configuration, and the chip's file."""

from __future__ import annotations

from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.reader import read_chip
from diopigen.conformance.vendor_side import VendorSide
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.vendor.chip_config import chip_of
from diopigen.vendor.scan import spec_interface
from diopigen.vendor.shims import Vendor, resolved_config, vendor_name


def read_vendor_side(
    interface: Interface, workspace: Workspace, impl: str | None, chip_file: str | None, sink: Sink
) -> VendorSide:
    """The vendor's side from the folder `impl` and the chip's file (default: that of the folder). What is wrong with
    them goes to `sink`."""
    resolved = chip = None
    options: tuple[str, ...] = ()
    if impl is not None:
        folder = Path(impl)
        vendor = Vendor(folder, vendor_name(folder))
        resolved = resolved_config(spec_interface(interface), workspace, vendor, sink)
        chip = chip_of(folder, vendor.name, interface, sink)
        options += ("--impl", impl)
    if chip_file is not None:
        chip = read_chip(Path(chip_file), chip_file, interface, sink)
        options += ("--chip", chip_file)
    if chip is None:
        return VendorSide((), resolved, options)
    return VendorSide(chip.accuracy, resolved, options, chip.peaks)
