"""Commands on a vendor's tree as a whole: coverage, doctor, sync."""

from __future__ import annotations

import json
from pathlib import Path

import click

from diopigen.commands import completion
from diopigen.commands.headers import proto_option, public_of
from diopigen.console import Session, common_options
from diopigen.diagnostics import Severity, Sink


@click.command("coverage")
@click.argument("directory", metavar="DIR")
@completion.names_option("--model", "requested", metavar="M", what="Only this model", complete=completion.models)
@proto_option
@click.option(
    "--next", "suggestions", type=click.IntRange(0), default=10, show_default=True, help="Operators to suggest."
)
@click.option("--functions", "each", is_flag=True, help="List dtypes and layouts function by function.")
@click.option(
    "--fallbacks",
    "recorded",
    multiple=True,
    metavar="FILE",
    help="Show why calls fell back: what a program with DIOPI_FALLBACK_REPORT=FILE wrote.",
)
@click.option("--html", "html_file", metavar="FILE", help="Write a page, made to be read.")
@click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON.")
@common_options
def coverage(
    directory: str,
    requested: tuple[str, ...],
    proto: tuple[str, ...],
    suggestions: int,
    each: bool,
    recorded: tuple[str, ...],
    html_file: str | None,
    json_file: str | None,
    session: Session,
) -> None:
    """Show who serves each operator of a vendor's tree (impl/NAME): its own kernels, the fallback, or none.

    Which models run with that, what is in the way of the others, and which operators are worth writing next. With a
    chip's file in the tree also by dtype and layout: native, converted by a shim, or on the fallback. With --fallbacks
    also which calls of a program fell back, and why. `--format json` prints the report with the findings in it.
    """
    from diopigen.findings.render import render
    from diopigen.output.disk import write_file
    from diopigen.vendor.chip_config import chip_of
    from diopigen.vendor.coverage import cover
    from diopigen.vendor.coverage_text import as_page, as_text, types_as_text
    from diopigen.vendor.coverage_types import as_json, cover_types
    from diopigen.vendor.fallbacks import read_fallbacks
    from diopigen.vendor.tree import read_tree

    left = read_fallbacks(map(Path, recorded))
    where = session.workspace()
    interface = session.load().interface
    selected = session.models_named(requested) if requested else session.models()
    public = public_of(session, interface, proto)
    interface = public.interface
    tree = read_tree(public, where, Path(directory), session.sink)
    if tree is None:
        session.finish()
    report = cover(interface, tree.name, tree.implemented, tree.skeletons, tree.rules, selected, left)
    chip = chip_of(tree.directory, tree.name, interface, session.sink)
    if each and chip is None:
        raise click.UsageError(f"--functions needs the chip's file: {tree.name}.yaml in {directory} or in its tree")
    types = () if chip is None else cover_types(interface, report, chip, tree.rules)
    document = {**report.as_json(), **(as_json(types) if types else {})}
    if json_file:
        write_file(Path(json_file), (json.dumps(document, indent=2) + "\n").encode())
    if html_file:
        write_file(Path(html_file), as_page(report, where.templates))
    if session.output_format == "text":
        click.echo(as_text(report, suggestions), nl=False)
        click.echo("\n" + types_as_text(types, each=each) if types else "", nl=False)
    elif session.output_format == "json":
        click.echo(json.dumps({**document, **json.loads(render(session.sink.sorted(), "json"))}, indent=2))
        raise SystemExit(1 if session.sink.has_errors else 0)
    kernels = report.count("native") + report.count("shim")
    session.finish(f"{directory}: {kernels} of {len(report.functions)} functions have a kernel")


@click.command("doctor")
@click.argument("directory", metavar="DIR")
@click.option("--lib", metavar="FILE", help="The library (default: the newest libdiopi_impl.so of the tree).")
@click.option("--adaptors", "shims_folder", metavar="DIR", help="Folder of the shims (default: where they are found).")
@proto_option
@common_options
def doctor(
    directory: str,
    lib: str | None,
    shims_folder: str | None,
    proto: tuple[str, ...],
    session: Session,
) -> None:
    """Find out why a vendor's tree (impl/NAME) does not work, each finding with the command that fixes it.

    Looks at what the library exports and calls, at its device functions, and at headers, configuration and shims.
    """
    from diopigen.vendor.doctor import Patient, examine, find_library, find_shims
    from diopigen.vendor.shims import Vendor, read_vendor, vendor_name

    if shims_folder and not Path(shims_folder).is_dir():
        raise click.UsageError(f"--adaptors: '{shims_folder}' is no folder")
    where = session.workspace()
    interface = session.load().interface
    public = public_of(session, interface, proto)
    interface, path = public.interface, Path(directory)
    vendor = Vendor(path, vendor_name(path))
    found = Sink()
    definitions, resolved = read_vendor(public, where, vendor, found, found)
    library = Path(lib) if lib else find_library(path)
    shims = Path(shims_folder) if shims_folder else find_shims(path, vendor.name)
    # Notes are for those who write a configuration; and without shims it does not matter where kernels stand.
    session.sink.extend(
        finding
        for finding in found.sorted()
        if finding.severity is not Severity.NOTE and (shims is not None or finding.code != "adaptors-namespace")
    )
    if definitions is None:
        session.finish()
    examine(Patient(vendor.name, path, definitions, resolved, library, shims), interface, where, session.sink)
    session.finish(clean=f"{directory}: nothing found; library {library}")


@click.command("sync")
@click.argument("directory", metavar="DIR")
@click.option("--apply", "write", is_flag=True, help="Write the changes (default: show them as a diff).")
@proto_option
@common_options
def sync(
    directory: str,
    write: bool,
    proto: tuple[str, ...],
    session: Session,
) -> None:
    """Show, as a diff, what a vendor's definitions (impl/NAME) need where the interface changed their signatures.

    Parameters are replaced, bodies are left alone: what they used of old parameters is left to a person. A copy of
    diopigen in third_party/diopigen is brought up to date too. Exit code 1 where something differs. New operators
    come from `diopigen scaffold`.
    """
    from diopigen.emit.plan import MANIFEST_NAME
    from diopigen.output.apply import apply
    from diopigen.output.check import dry_run
    from diopigen.output.disk import write_file
    from diopigen.package import VENDORED_FOLDER
    from diopigen.vendor.doctor import tree_root
    from diopigen.vendor.scan import check_vendor
    from diopigen.vendor.shims import vendor_name
    from diopigen.vendor.sync import changes
    from diopigen.vendor.vendored_copy import planned_copy

    interface = session.load().interface
    public = public_of(session, interface, proto)
    found = Sink()
    check_vendor(public, session.workspace(), Path(directory), found)
    # What is wrong with signatures is shown as a diff; the rest keeps signatures from being seen.
    session.sink.extend(
        item for item in found.sorted() if item.severity is Severity.ERROR and not item.code.startswith("impl-")
    )
    edits = changes(found.sorted(), {function.name: function for function in public.declared.functions})
    root = tree_root(Path(directory))
    plan = planned_copy(root, interface, session.workspace())
    copy = None
    if plan is not None:
        run = apply if write else dry_run
        command = f"diopigen scaffold --vendor {vendor_name(Path(directory))} --out {root}"
        copy = run(plan, root / VENDORED_FOLDER, session.sink, command=command)
    if session.sink.has_errors:
        session.finish()
    stale = 0 if copy is None else len({*copy.written, *copy.removed} - {MANIFEST_NAME})
    if not edits and not stale:
        session.finish(clean=f"{directory}: every signature is that of the interface")
    if stale:
        done = "written" if write else "differ"
        click.echo(f"{VENDORED_FOLDER}: {stale} files {done}", err=not write)
    if not edits and write:
        session.finish()
    count = sum(len(change.functions) for change in edits)
    if write:
        for change in edits:
            write_file(change.path, change.after.encode())
        session.finish(f"{directory}: {count} signatures updated in {len(edits)} files; bodies are yours to adapt")
    click.echo("".join(change.diff() for change in edits), nl=False)
    raise SystemExit(1)
