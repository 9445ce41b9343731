"""The commands that a vendor's tree starts with and builds with: scaffold, cmake-dir."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from diopigen.commands import completion
from diopigen.console import Session, common_options

if TYPE_CHECKING:
    from diopigen.vendor.scaffold import Scaffolded


@click.command()
@click.option("--vendor", metavar="NAME", help="Name of the vendor: a C identifier (default: that of --chip).")
@click.option("--chip", "chip_path", metavar="FILE", help="Start from the file of a chip: its native operators.")
@click.option("--out", required=True, metavar="DIR", help="Folder of the tree: new, empty, or scaffolded before.")
@completion.names_option(
    "--ops", "patterns", metavar="GLOB", what="Operators: Add, 'Conv*'", complete=completion.functions
)
@completion.names_option("--family", "families", metavar="F", what="A whole family", complete=completion.families)
@completion.names_option(
    "--model", "models", metavar="M", what="All that a model calls: resnet50", complete=completion.models
)
@click.option("--all", "everything", is_flag=True, help="Every operator of the interface.")
@click.option("--with-torch", "torch", is_flag=True, help="A backend for PyTorch too: the package torch_NAME.")
@click.option("--with-vllm", "vllm", is_flag=True, help="What vLLM's plugin reads too: layers of torch_NAME, a test.")
@click.option("--with-tvm", "tvm", is_flag=True, help="Packed functions of tvm-ffi and TVM's ext_dev too.")
@click.option("--vendored", is_flag=True, help="A copy of headers, runtime and kernel library in third_party/diopigen.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what would be written.")
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited; never files of your own.")
@common_options
def scaffold(
    vendor: str | None,
    chip_path: str | None,
    out: str,
    patterns: tuple[str, ...],
    families: tuple[str, ...],
    models: tuple[str, ...],
    everything: bool,
    torch: bool,
    vllm: bool,
    tvm: bool,
    vendored: bool,
    dry_run: bool,
    force: bool,
    session: Session,
) -> None:
    """Write a vendor's tree that builds at once, or add to one what is new.

    Without --ops, --family, --model and --all a new tree gets a starter set of operators, or the native ones of --chip,
    and an older one is brought up to date. Their kernels are generated: elementwise ones, and calls of the kernel
    library. What is named gets a file of your own. Files that are yours (all but generated/, third_party/diopigen/,
    impl/NAME/functions_elementwise/, impl/NAME/functions_library/, test/operators.inc and vendor.json) are written once
    and never touched again. With a spec of your own the tree is --vendored: its headers are not those of the package.
    """
    from diopigen.emit.vendor.selection import Selection, require_vendor_name
    from diopigen.ir.naming import DIOPI
    from diopigen.package import package_root
    from diopigen.vendor.foreign import scaffold as run_foreign
    from diopigen.vendor.scaffold import scaffold as run

    if vendor is None and chip_path is None:
        raise click.UsageError("name the vendor with --vendor, or the file of its chip with --chip")
    if vendor is not None:
        require_vendor_name(vendor)
    interface = session.load().interface
    start = None if chip_path is None else _start(session, chip_path, vendor)
    where = session.workspace()
    name = vendor or (start.name if start is not None else "")
    require_vendor_name(name)
    selected = Selection((*patterns, *_called(session, models)), families, everything)
    if interface.naming != DIOPI:
        if torch or vllm or tvm or vendored or chip_path is not None or models:
            message = "--with-torch, --with-vllm, --with-tvm, --vendored, --chip and --model need an interface of DIOPI"
            raise click.UsageError(message)
        sink = session.sink
        done = run_foreign(interface, where, name, Path(out), sink, selected=selected, force=force, write=not dry_run)
        _finish(session, done, out, dry_run)
    done = run(
        interface,
        where,
        package_root(),
        name,
        Path(out),
        session.sink,
        selected=selected,
        torch=torch,
        vllm=vllm,
        tvm=tvm,
        vendored=vendored or where.has_own_spec,
        chip=None if start is None else start.content,
        force=force,
        write=not dry_run,
    )
    _finish(session, done, out, dry_run)


def _finish(session: Session, done: Scaffolded, out: str, dry_run: bool) -> NoReturn:
    """Says what was written, or would be, and ends the command."""
    from diopigen.output.check import listing

    if dry_run and not session.sink.has_errors:
        click.echo(listing(done.generated, dry=True), nl=False)
        for result in (*done.folders, *([done.shims] if done.shims is not None else [])):
            click.echo(listing(result, dry=True), nl=False)
        click.echo("".join(f"would start   {path}\n" for path in done.started), nl=False)
        session.finish()
    results = [done.generated, *done.folders, *([done.shims] if done.shims is not None else [])]
    counts = {name: sum(len(getattr(each, name)) for each in results) for name in ("written", "removed", "unchanged")}
    generated = "generated: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    session.finish(f"{out}: {generated}; yours: {len(done.started)} started, {len(done.retained)} kept")


@dataclass(frozen=True)
class _Start:
    """The chip's file that a tree starts from."""

    name: str
    content: bytes


def _start(session: Session, path: str, vendor: str | None) -> _Start:
    """The file of a chip; findings end the command."""
    from diopigen.chip.reader import parse_chip
    from diopigen.spec.text_file import read_text

    text = read_text(Path(path), path)
    chip = parse_chip(text, path, session.load().interface, session.sink)
    if chip is None:
        session.finish()
    if vendor is not None and vendor != chip.name:
        raise click.UsageError(f"--vendor {vendor} and the chip '{chip.name}' of {path} differ: leave --vendor out")
    return _Start(chip.name, text.encode())


def _called(session: Session, names: tuple[str, ...]) -> tuple[str, ...]:
    """The functions that models call."""
    if not names:
        return ()
    found: dict[str, None] = {}
    for model in session.models_named(names):
        found.update(dict.fromkeys(model.functions()))
    return tuple(found)


@click.command("cmake-dir")
def cmake_dir() -> None:
    """Print the folder of the CMake package, for find_package(diopigen) with -Ddiopigen_DIR."""
    from diopigen.emit.vendor.vendored import CMAKE_DIR
    from diopigen.package import package_data

    click.echo(package_data(CMAKE_DIR))
