"""Trees to test, scaffolded in the test's own process."""

from __future__ import annotations

from pathlib import Path

import pytest
from vendor_trees import ROOT, Scaffold

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.selection import Selection
from diopigen.ir.model import Interface
from diopigen.scaffold import scaffold


@pytest.fixture(scope="session")
def make(interface: Interface, workspace: api.Workspace) -> Scaffold:
    """Scaffolds droplet: `make(root)` the starter set, `make(root, "Add", "Conv*")` operators by pattern."""

    def run(
        root: Path, *patterns: str, sink: Sink | None = None, spec: Interface | None = None, **options: bool
    ):  # type: ignore[no-untyped-def]
        found = Sink() if sink is None else sink
        chosen = Selection(patterns, everything=options.pop("everything", False))
        result = scaffold(
            spec or interface, workspace, ROOT / "runtime", "droplet", root, found, chosen=chosen, **options
        )
        if sink is None:
            assert found.sorted() == []
        return result

    return run
