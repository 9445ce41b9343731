"""Functions that a library should export and does not, with the cause as its symbols show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diopigen.conformance.report.cause_table import CAUSE_OF
from diopigen.diagnostics import nearest
from diopigen.ir.model import Function
from diopigen.vendor.elf import read_symbols


def unexported(library: Path, function: Function | None = None) -> dict[str, Any]:
    """The failure for a function that the library does not export; for all functions without one. Raises `Failure`
    where the file is no library."""
    symbols = read_symbols(library)
    if function is None:
        message, name = "the library exports no function of the interface", "diopi"
    else:
        message, name = f"the library does not export {function.name}", function.name
    code = "not-exported"
    near = nearest(name, [one for one in symbols.defined if one.startswith("diopi")])
    mangled = name if function is None else f"{len(name)}{name}"
    if any(one.startswith("_Z") and mangled in one for one in symbols.defined):
        code = "mangled-name"
    elif name in symbols.needed | symbols.weak:
        code = "defined-elsewhere"
    record = {"message": message, "likely_cause": CAUSE_OF[code].record}
    return {**record, "exported_instead": near} if near and code == "not-exported" else record
