"""Commands on the spec itself: check, generate, explain."""

from __future__ import annotations

from pathlib import Path

import click

from diopigen.collection import no_collection
from diopigen.commands import completion
from diopigen.commands.checking import checked
from diopigen.commands.combinations import combinations, excludes, needs
from diopigen.commands.fixing import check_files, fix_spec
from diopigen.commands.writing import carry_out, writing_options
from diopigen.console import PLAN, Session, common_options


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--missing", is_flag=True, help="List also what operators lack for a known reason.")
@click.option("--fix", "fixes", is_flag=True, help="Carry out the fixes that leave no choice, and say which.")
@click.option("--diff", is_flag=True, help="With --fix: write nothing; show what would change.")
@common_options
def check(
    files: tuple[str, ...],
    missing: bool,
    fixes: bool,
    diff: bool,
    session: Session,
) -> None:
    """Check the spec against every rule (diopigen explain --rules lists them), those of all targets and of the model
    tables included: what passes here can be generated. With FILEs, chips' files and configurations are checked in its
    place.

    An operator without cases, oracle, kernel of a reference library or glue for PyTorch is named as well.
    """
    from diopigen import api

    if diff and not fixes:
        raise click.UsageError("--diff needs --fix")
    where = session.workspace()
    published = api.published(where.root / "generated")
    if files:
        check_files(session, files, published, fixes=fixes, diff=diff)
    if fixes:
        fix_spec(session, published, diff=diff)
    with no_collection():
        findings, summary = checked(session, published, each=missing)
    session.sink.extend(findings)
    session.finish(clean=f"{summary}: nothing found")


@click.command()
@click.option("--out", default="generated", show_default=True, metavar="DIR", help="Folder to write.")
@completion.names_option("--target", "selected", metavar="NAME", what="Only this target", complete=completion.targets)
@writing_options(differs="files differ from the spec", edited="files that were")
@click.option("--stamp", metavar="FILE", help="Touch this file when done (for build systems).")
@click.option("--depfile", metavar="FILE", help="Write the inputs as a Make dependency file for --stamp.")
@click.option("--list-targets", is_flag=True, help="List the targets and stop.")
@common_options
@combinations(
    excludes("mode", "stamp", "depfile"),
    excludes("list_targets", "out", "selected", "mode", "force", "stamp", "depfile"),
    needs("depfile", "stamp"),
)
def generate(
    out: str,
    selected: tuple[str, ...],
    mode: str | None,
    force: bool,
    stamp: str | None,
    depfile: str | None,
    list_targets: bool,
    session: Session,
) -> None:
    """Write headers, skeleton data and everything else that follows from the spec."""
    from diopigen import api
    from diopigen.output.apply import DEFAULT_COMMAND
    from diopigen.output.depfile import write_stamp

    if list_targets:
        click.echo("\n".join(api.targets()))
        return
    where = session.workspace()
    folders = (where.spec, where.templates)
    with no_collection():
        plan = session.cached(
            PLAN, folders, (*selected,), lambda: api.plan(session.load().interface, where, session.sink, selected)
        )
    root = Path(out)
    if session.sink.has_errors:
        session.finish()
    checked = f"{out}: {len(plan)} files, all as the spec says"
    changed = carry_out(session, plan, root, mode, force=force, command=DEFAULT_COMMAND, checked=checked)
    if not session.sink.has_errors and stamp:
        inputs = (str(where.path_of(name)) for name in plan.all_inputs())
        write_stamp(Path(stamp), Path(depfile) if depfile else None, inputs)
    session.finish(f"{out}: {changed}")


@click.command()
@click.argument("name", required=False, shell_complete=completion.functions_and_rules)
@click.option("--rules", is_flag=True, help="List every rule with its purpose.")
@click.option("--fusion", is_flag=True, help="What compiled graphs fuse: NAME is a function, or a saved report.")
@click.option("--sources", is_flag=True, help="With --fusion and a report, the sources of the kernels too.")
@common_options
@combinations(excludes("rules", "name", "fusion", "sources"), needs("sources", "fusion"))
def explain(
    name: str | None,
    rules: bool,
    fusion: bool,
    sources: bool,
    session: Session,
) -> None:
    """Show all that the spec says about a function, or what a rule is for."""
    from diopigen.commands.explanations import explain_function
    from diopigen.commands.fusion_explained import explain_fusion
    from diopigen.rulebook.text import explain_rule, rules_table

    if rules:
        click.echo(rules_table())
        return
    if fusion:
        click.echo(explain_fusion(session.load().interface, name, sources))
        return
    if name is None:
        raise click.UsageError("name a function (diopiAdd) or a rule (unknown-dtype), or use --rules")
    rule = explain_rule(name)
    if rule is not None:
        click.echo(rule)
        return
    click.echo(explain_function(session.load().interface, name))
