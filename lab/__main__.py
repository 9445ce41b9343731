"""`python -m lab`: mutate, mutate-sources, operators, variants, cheats. For those who develop diopigen; no vendor needs
them."""

from __future__ import annotations

import click

from diopigen.cli import main
from lab.commands.cheats import cheats
from lab.commands.mutate import mutate
from lab.commands.mutate_sources import mutate_sources
from lab.commands.operators import operators
from lab.commands.variants import variants


@click.group(name="lab", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def lab() -> None:
    """Tests of the conformance suite: faults, false alarms and cheats."""


for command in (mutate, mutate_sources, operators, variants, cheats):
    lab.add_command(command)

if __name__ == "__main__":
    main(commands=lab)
