"""The command that writes a vendor's elementwise kernels from the spec: elementwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands import completion
from diopigen.commands.writing import carry_out, writing_options
from diopigen.console import Session, common_options
from diopigen.diagnostics import Sink, Span

if TYPE_CHECKING:
    from diopigen.ir.model import Function, Interface

RULES = {
    "elementwise-pattern": "Every --ops pattern of `diopigen elementwise` fits an operator that it can write.",
    "elementwise-skeleton": "Where a kernel is wanted, no skeleton prevents it.",
    "elementwise-no-loop": "A vendor with generated elementwise kernels has the loop that they run in.",
}


@click.command()
@click.argument("directory", metavar="IMPL_DIR")
@completion.names_option(
    "--ops", "patterns", metavar="GLOB", what="Operators: Add, 'Log*'", complete=completion.functions
)
@click.option("--chip", "chip_file", metavar="FILE", help="Only what this file of a chip lists as native.")
@writing_options(differs="the kernels differ", edited="kernels that were")
@common_options
def elementwise(
    directory: str,
    patterns: tuple[str, ...],
    chip_file: str | None,
    mode: str | None,
    force: bool,
    session: Session,
) -> None:
    """Write elementwise kernels for a device that runs C++ functions, to IMPL_DIR/functions_elementwise.

    They follow from the expressions of the spec, and run in a loop that the vendor writes once: the template
    `elementwise` in IMPL_DIR/elementwise.h. Operators that the vendor has written by hand are left out.
    """
    from diopigen.emit.elementwise.kernels import FOLDER, emit_elementwise, expressible
    from diopigen.emit.vendor.selection import require_vendor_name
    from diopigen.vendor.handwritten import handwritten
    from diopigen.vendor.shims import vendor_name

    path = Path(directory)
    name = vendor_name(path)
    require_vendor_name(name)
    where = session.workspace()
    interface = session.load().interface
    by_hand = handwritten(interface, where, path, path / FOLDER, session.sink)
    selected = _fitting(list(expressible(interface)), patterns, session.sink)
    if chip_file is not None:
        selected = _native(selected, chip_file, interface, session.sink)
    blocked = [function.name for function in selected if function.name in by_hand.skeletons]
    if blocked:
        message = f"{len(blocked)} operators have a skeleton that takes the place of a kernel: {', '.join(blocked)}"
        fix = "remove the skeletons of what is not to be written by hand, and run the command again"
        session.sink.note("elementwise-skeleton", message, Span(str(path)), fix=fix)
    selected = [function for function in selected if function.name not in by_hand.names]
    if not (path / "elementwise.h").exists():
        fix = "write the template that runtime/adaptor/include/diopigen/elementwise/functions.h describes"
        session.sink.warning("elementwise-no-loop", f"{path}/elementwise.h is missing", Span(str(path)), fix=fix)
    if session.sink.has_errors:
        session.finish()
    words = [*(f"--ops '{pattern}'" for pattern in patterns), *([f"--chip {chip_file}"] if chip_file else [])]
    command = " ".join(["diopigen elementwise", f"impl/{name}", *words])
    plan = emit_elementwise(interface, where.templates, name, selected, command)
    root = path / FOLDER
    checked = f"{root}: as the spec says"
    changed = carry_out(session, plan, root, mode, force=force, command=command, checked=checked)
    session.finish(f"{root}: {len(selected)} kernels; {changed}")


def _fitting(functions: list[Function], patterns: tuple[str, ...], sink: Sink) -> list[Function]:
    """Returns the names that match one of the patterns, or all without patterns."""
    from fnmatch import fnmatchcase

    def fits(function: Function, pattern: str) -> bool:
        names = (function.name, function.short_name, function.operator)
        return any(fnmatchcase(name, pattern) for name in names)

    for pattern in patterns:
        if not any(fits(function, pattern) for function in functions):
            message = f"no elementwise operator fits '{pattern}'"
            fix = "use the name of an operator with a `kernel` in the spec (Add, diopiAdd) or a pattern (Log*)"
            sink.error("elementwise-pattern", message, fix=fix)
    return [each for each in functions if not patterns or any(fits(each, pattern) for pattern in patterns)]


def _native(functions: list[Function], file: str, interface: Interface, sink: Sink) -> list[Function]:
    """Operators in the file of a chip."""
    from diopigen.chip.reader import read_chip

    found = read_chip(Path(file), file, interface, sink)
    native = {one.name for one in found.operators} if found is not None else set()
    return [function for function in functions if function.name in native]
