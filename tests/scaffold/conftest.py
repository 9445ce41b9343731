"""Trees to test, scaffolded in the test's own process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from vendor_trees import ROOT, Scaffold

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.vendor.selection import Selection
from diopigen.ir.model import Interface
from diopigen.vendor.scaffold import Scaffolded, scaffold


@pytest.fixture(scope="session")
def make(interface: Interface, workspace: api.Workspace, tmp_path_factory: pytest.TempPathFactory) -> Scaffold:
    """Scaffolds droplet: `make(root)` the starter set, `make(root, "Add", "Conv*")` operators by pattern."""

    # A copy, so that an edit of the runtime while tests run is no difference between two trees.
    package = tmp_path_factory.mktemp("package")
    for name in ("cmake", "runtime"):
        shutil.copytree(ROOT / name, package / name)

    def run(
        root: Path, *patterns: str, sink: Sink | None = None, spec: Interface | None = None, **options: Any
    ) -> Scaffolded:
        found = Sink() if sink is None else sink
        selected = Selection(patterns, everything=options.pop("everything", False))
        result = scaffold(spec or interface, workspace, package, "droplet", root, found, selected=selected, **options)
        if sink is None:
            assert found.sorted() == []
        return result

    return run
