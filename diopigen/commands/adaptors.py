"""The command that writes the conversion shims of a vendor, and says what they do: adaptors."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from diopigen.commands.combinations import combinations, excludes, needs
from diopigen.commands.headers import proto_option, public_of
from diopigen.commands.writing import carry_out, writing_options
from diopigen.console import Session, common_options
from diopigen.diagnostics import Severity, Sink

if TYPE_CHECKING:
    from diopigen.config.model import ResolvedConfig
    from diopigen.emit.plan import Plan
    from diopigen.ir.model import Interface
    from diopigen.vendor.shims import Vendor

_ALL = "*"
_OUT = "generated/adaptors"


@click.command()
@click.argument("directory", metavar="IMPL_DIR")
@click.option("--config", metavar="FILE", help="Configuration (default: IMPL_DIR/convert_config.yaml).")
@proto_option
@click.option("--vendor", metavar="NAME", help="Name of the vendor (default: the name of IMPL_DIR).")
@click.option("--out", metavar="DIR", help=f"Folder to write (default: {_OUT}/VENDOR).")
@click.option(
    "--explain",
    "explained",
    is_flag=False,
    flag_value=_ALL,
    metavar="[FUNCTION]",
    help="Write nothing; show what holds for each tensor of a function, or of all, and which line says so.",
)
@writing_options(differs="files differ", edited="files that were")
@click.option("--stamp", metavar="FILE", help="Touch this file when done (for build systems).")
@click.option("--depfile", metavar="FILE", help="Write the inputs as a Make dependency file for --stamp.")
@common_options
@combinations(
    excludes("mode", "stamp", "depfile"),
    excludes("explained", "out", "mode", "force", "stamp", "depfile"),
    needs("depfile", "stamp"),
)
def adaptors(
    directory: str,
    config: str | None,
    proto: tuple[str, ...],
    vendor: str | None,
    out: str | None,
    explained: str | None,
    mode: str | None,
    force: bool,
    stamp: str | None,
    depfile: str | None,
    session: Session,
) -> None:
    """Write the shims that convert dtypes and layouts for a vendor's kernels (impl/NAME).

    The vendor's convert_config.yaml says what its kernels do not take. Nothing is written where it is in error.
    """
    from diopigen.emit.vendor.selection import require_vendor_name
    from diopigen.header.vendor_sources import source_files
    from diopigen.output.depfile import write_stamp
    from diopigen.vendor.shims import Vendor, check_signatures, resolved_config, vendor_name

    path = Path(directory)
    name = vendor or vendor_name(path)
    require_vendor_name(name)
    where = session.workspace()
    interface = session.load().interface
    gc.freeze()  # the interface stays to the end; the collector would walk over it again and again
    public = public_of(session, interface, proto)
    interface = public.interface
    found = Vendor(path, name, Path(config) if config else None)
    resolved = resolved_config(public, where, found, session.sink)
    if resolved is not None and public.headers:
        check_signatures(public, resolved, session.sink)
    if session.strict:
        session.sink = _with_warnings_as_errors(session.sink)
    if resolved is None or session.sink.has_errors:
        session.finish()
    if explained is not None:
        _explain(session, resolved, interface, explained)
    target = Path(out or f"{_OUT}/{name}")
    plan, summary = _write(session, found, resolved, interface, target, mode, force)
    if stamp and not session.sink.has_errors:
        inputs = [*plan.all_inputs(), *interface.files, *(str(source) for source in source_files(path))]
        write_stamp(Path(stamp), Path(depfile) if depfile else None, (str(where.path_of(each)) for each in inputs))
    session.finish(summary)


def _with_warnings_as_errors(sink: Sink) -> Sink:
    """The same findings as `--strict` weighs them, so that they are also shown as what they are taken for."""
    converted = Sink()
    for finding in sink.sorted():
        is_warning = finding.severity is Severity.WARNING
        converted.add(replace(finding, severity=Severity.ERROR) if is_warning else finding)
    return converted


def _explain(session: Session, resolved: ResolvedConfig, interface: Interface, name: str) -> NoReturn:
    """Prints the table. As JSON it is one document, with the findings in it."""
    from diopigen.config.explain import as_json, explain_all, explain_function, function_named
    from diopigen.findings.render import render

    if session.output_format not in ("text", "json"):
        raise click.UsageError("--explain is shown as text or json")
    selected = None if name == _ALL else function_named(resolved, interface, name)
    if session.output_format == "json":
        found = json.loads(render(session.sink.sorted(), "json"))
        click.echo(json.dumps({**as_json(resolved, interface, selected), **found}, indent=2))
        session.sink = Sink()
        raise SystemExit(0)
    table = explain_all(resolved, interface) if selected is None else explain_function(resolved, interface, selected)
    click.echo(table)
    session.finish()


def _write(
    session: Session,
    vendor: Vendor,
    resolved: ResolvedConfig,
    interface: Interface,
    root: Path,
    mode: str | None,
    force: bool,
) -> tuple[Plan, str]:
    """Writes the shims, and gives the plan and what to say; a mode that writes nothing ends the command."""
    from diopigen.vendor.shims import check_owner, shims

    command = f"diopigen adaptors {vendor.directory}"
    check_owner(root, resolved, session.sink)
    if session.sink.has_errors:
        session.finish()
    plan = shims(interface, session.workspace(), resolved)
    checked = f"{root}: {len(plan)} files, all as {resolved.file} and the spec say"
    changed = carry_out(session, plan, root, mode, force=force, command=command, checked=checked)
    shimmed = sum(rule.function in resolved.implemented for rule in resolved.functions)
    return plan, f"{root}: shims for {shimmed} functions; {changed}"
