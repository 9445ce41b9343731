"""What a vendor's sources define, against the interface."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from diopigen.api import Workspace
from diopigen.diagnostics import Sink
from diopigen.emit.c import headers as emit_headers
from diopigen.header.signature import c_interface
from diopigen.header.vendor import VendorSources, check_impl, scan_vendor
from diopigen.ir.model import Interface


def check_vendor(
    interface: Interface, where: Workspace, directory: Path, prelude: Sequence[Path], sink: Sink
) -> tuple[str, ...]:
    """Compares a vendor's definitions with the interface; gives the implemented functions in its order.

    Without `prelude` the public headers are made from the spec for the time of the scan.
    """
    return scan_and_check(interface, where, directory, prelude, sink)[1]


def scan_and_check(
    interface: Interface, where: Workspace, directory: Path, prelude: Sequence[Path], sink: Sink
) -> tuple[VendorSources, tuple[str, ...]]:
    """A vendor's definitions as in its sources, and the functions that they implement."""
    expected = c_interface(interface)
    operators = {function.name for function in interface.functions if function.family != "runtime"}
    if prelude:
        sources = scan_vendor(directory, prelude, sink)
        implemented = check_impl(expected, sources, sink)
    else:
        with tempfile.TemporaryDirectory(prefix="diopigen-") as folder:
            shims = []
            for path, content in emit_headers.emit(interface, where.templates).items():
                target = Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                shims.append(target)
            sources = scan_vendor(directory, shims, sink)
            implemented = check_impl(expected, sources, sink)
    return sources, tuple(name for name in implemented if name in operators)
