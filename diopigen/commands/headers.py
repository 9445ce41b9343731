"""Commands on C headers and vendor sources: check-proto, check-impl, import-proto, breaking."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.console import Session, common_options, verbose_option

if TYPE_CHECKING:
    from diopigen.diagnostics import Sink
    from diopigen.ir.model import Interface
    from diopigen.vendor.scan import Public

GENERATED_HEADERS = "generated/include/diopi"


include_option = click.option(
    "-I", "--include", "include_dirs", multiple=True, metavar="DIR", help="Search this folder for included headers."
)


language_option = click.option(
    "--language", type=click.Choice(("c", "c++")), default="c++", show_default=True, help="Parse as."
)


proto_option = click.option(
    "--proto", multiple=True, metavar="HEADER", help="The public headers, or their folder (default: from the spec)."
)


def public_of(session: Session, interface: Interface, proto: tuple[str, ...]) -> Public:
    """The interface that --proto declares, else that of the spec; ends the command after an error in a header."""
    from diopigen.vendor.scan import public_interface

    public = public_interface(interface, [Path(header) for header in proto], session.sink)
    if public is None:
        session.finish()
    return public


@click.command("check-proto")
@click.argument("headers", nargs=-1, metavar="[HEADER]...")
@language_option
@click.option("--no-docs", is_flag=True, help="Leave the comments out.")
@include_option
@verbose_option
@common_options
def check_proto(
    headers: tuple[str, ...],
    language: str,
    no_docs: bool,
    include_dirs: tuple[str, ...],
    verbose: bool,
    session: Session,
) -> None:
    """Compare C headers with the spec, and their comments with themselves.

    Without a HEADER the generated ones are checked. A header that is called like one of the interface is compared
    with that one; headers of other names are compared with the whole interface.
    """
    from diopigen.header.check import check_headers

    session.hides_notes = not verbose
    interface = session.load().interface
    paths = [Path(header) for header in headers] or sorted(Path(GENERATED_HEADERS).glob("*.h"))
    if not paths:
        raise click.UsageError(f"{GENERATED_HEADERS} holds no headers: name some, or run `diopigen generate` first")
    folders = _folders(include_dirs)
    count = check_headers(interface, paths, session.sink, language=language, docs=not no_docs, include_dirs=folders)
    session.finish(clean=f"{count} functions in {len(paths)} headers: all as the spec says")


@click.command("check-impl")
@click.argument("directory", metavar="DIR")
@proto_option
@click.option("-D", "macros", multiple=True, metavar="NAME[=VALUE]", help="A macro of the build, such as a version.")
@click.option("--list", "list_functions", is_flag=True, help="List the functions with a definition.")
@verbose_option
@common_options
def check_impl(
    directory: str,
    proto: tuple[str, ...],
    macros: tuple[str, ...],
    list_functions: bool,
    verbose: bool,
    session: Session,
) -> None:
    """Compare a vendor's sources (impl/NAME) with the interface; the vendor's SDK is not needed.

    Every branch of an #if is read, and of those that a macro of -D chooses between, the chosen one.
    The tree's exceptions.yaml is checked as well: factors that the chip's file should declare.
    """
    from diopigen.vendor.scan import scan_and_check, written_kernels

    for macro in macros:
        if not re.fullmatch(r"[A-Za-z_]\w*(=.*)?", macro):
            raise click.UsageError(f"-D: '{macro}' is neither NAME nor NAME=VALUE")
    session.hides_notes = not verbose
    where = session.workspace()
    interface = session.load().interface
    public = public_of(session, interface, proto)
    sources, implemented = scan_and_check(public, where, Path(directory), session.sink, macros)
    _check_exceptions(Path(directory), interface, session.sink)
    if list_functions:
        click.echo("".join(f"{name}\n" for name in implemented), nl=False)
    kernels, skeletons = written_kernels(public, sources.functions)
    empty = f", {len(skeletons)} a skeleton" if skeletons else ""
    session.finish(f"{directory}: {len(kernels)} of {len(public.kernels())} functions have a kernel{empty}")


def _check_exceptions(directory: Path, interface: Interface, sink: Sink) -> None:
    """Checks the file of known exceptions in the root of the tree that the sources are in."""
    from diopigen.conformance.run.exceptions import read
    from diopigen.conformance.run.factors import free_factors
    from diopigen.vendor.doctor import tree_root

    path = tree_root(directory) / "exceptions.yaml"
    if path.is_file():
        free_factors(read(path, str(path), sink), interface, sink)


@click.command("import-proto")
@click.argument("headers", nargs=-1, required=True, metavar="HEADER...")
@click.option("--out", default="specs", show_default=True, metavar="DIR", help="Folder to write.")
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--prefix", metavar="TEXT", help="What names begin with (default: what nearly all do, if anything).")
@click.option("--status", metavar="TEXT", help="What functions return (default: the enum that most return, or void).")
@language_option
@include_option
@common_options
def import_proto(
    headers: tuple[str, ...],
    out: str,
    force: bool,
    prefix: str | None,
    status: str | None,
    language: str,
    include_dirs: tuple[str, ...],
    session: Session,
) -> None:
    """Write a first spec from C headers, of DIOPI or of another library.

    What a header cannot say (what is written through a pointer, dtypes, shapes) is left open, and `diopigen check`
    names every open place. Types of included headers come along, their functions do not.
    """
    from diopigen.emit.spec.first_spec import first_spec
    from diopigen.header.cdecl import canonical_type
    from diopigen.output.apply import apply
    from diopigen.spec.grammar_words import PREFIX, RESULT_TYPE

    for option, value, shape in (("--prefix", prefix, PREFIX), ("--status", status, RESULT_TYPE)):
        if value is not None and not re.fullmatch(shape.pattern or "", value):
            raise click.UsageError(f"{option}: '{value}' is not {shape.what}")
    plan = first_spec(
        [Path(header) for header in headers],
        session.sink,
        _folders(include_dirs),
        language="c" if language == "c" else "c++",
        prefix=prefix,
        status=None if status is None else canonical_type(status),
    )
    if plan is None:
        session.give_up()
    if session.sink.has_errors:
        session.finish()
    result = apply(plan, Path(out), session.sink, force=force, command="diopigen import-proto")
    files = f"{out}: {len(result.written)} files written; next: diopigen check --spec {out}"
    session.finish(files)


def _folders(names: tuple[str, ...]) -> list[Path]:
    for name in names:
        if not Path(name).is_dir():
            raise click.UsageError(f"-I: '{name}' is no folder")
    return [Path(name) for name in names]


@click.command()
@click.option("--against", required=True, metavar="OLD", help="A spec folder, a diopi.json or headers' folder or file.")
@click.option("--new", metavar="NEW", help="Likewise (default: the spec).")
@include_option
@common_options
def breaking(
    against: str,
    new: str | None,
    include_dirs: tuple[str, ...],
    session: Session,
) -> None:
    """Report what a new version of the interface breaks: binaries and legal calls (errors), sources (warnings), nothing
    (notes). Between two spec folders contracts are compared as well: dtypes, shapes, ranges, constraints, kernels.
    A version that the changes must raise, and a wrong `since`, are errors.

    Exit codes: 0 nothing breaks, 1 something does, 2 a version cannot be read. What `check` finds does not count.
    """
    from diopigen.diagnostics import Sink
    from diopigen.header.check import read_version
    from diopigen.header.contract_changes import version_changes
    from diopigen.header.version_rule import check_version

    read, changes = Sink(), Sink()
    folders = _folders(include_dirs)
    old_side = read_version(Path(against), read, folders)
    new_side = read_version(Path(new) if new else session.workspace().spec, read, folders)
    if old_side is None or new_side is None:
        session.sink.extend(read.sorted())
        session.give_up()
    version_changes(old_side, new_side, changes)
    session.sink.extend(changes.sorted())
    check_version(old_side, new_side, changes.sorted(), session.sink)
    session.finish(clean=f"{against}: nothing breaks")
