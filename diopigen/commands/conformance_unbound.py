"""`conformance unbound`: functions that no operator of PyTorch is called for."""

from __future__ import annotations

from textwrap import fill

import click

from diopigen.console import Session, spec_option


@click.command("unbound")
@spec_option
def unbound(session: Session) -> None:
    """List the functions that `conformance aten` calls no operator of PyTorch for, by reason."""
    from diopigen.conformance.aten.custom import unbound as reasons_of

    interface = session.load().interface
    reasons: dict[str, list[str]] = {}
    for name, reason in reasons_of(interface).items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        click.echo(f"{len(names)} {reason or 'no reason is known'}:")
        click.echo(fill(", ".join(names), 120, initial_indent="  ", subsequent_indent="  "))
    count = sum(map(len, reasons.values()))
    click.echo(f"{count} of {len(interface.functions)} functions have no operator of PyTorch")
