"""`scaffold --with-torch`: the backend for PyTorch in a vendor's tree, and droplet's package as what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.package import package_root
from diopigen.vendor.scaffold import Scaffolded, scaffold

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet/torch_droplet"


def _scaffolded(root: Path, *, torch: bool) -> Scaffolded:
    where, sink = api.workspace(), Sink()
    interface = api.load(where, sink, check=False).interface
    done = scaffold(interface, where, package_root(), "droplet", root, sink, torch=torch)
    assert sink.sorted() == []
    return done


def test_the_package_of_droplet_is_what_scaffold_writes(tmp_path: Path) -> None:
    _scaffolded(tmp_path, torch=True)
    written = {path.name: path.read_text() for path in (tmp_path / "torch_droplet").glob("*.py")}
    assert written == {path.name: path.read_text() for path in EXAMPLE.glob("*.py")}
    assert (tmp_path / "pyproject.toml").read_text() == (EXAMPLE.parent / "pyproject.toml").read_text()


@pytest.mark.slow
def test_a_tree_has_a_backend_only_where_one_was_asked_for_and_keeps_it(tmp_path: Path) -> None:
    _scaffolded(tmp_path, torch=False)
    assert not (tmp_path / "torch_droplet").exists()
    _scaffolded(tmp_path, torch=True)
    assert json.loads((tmp_path / "vendor.json").read_text())["torch"] is True
    again = _scaffolded(tmp_path, torch=False)
    assert again.generated.written == () and again.generated.removed == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["__init__.py"])
def test_what_is_the_vendors_own_stays(tmp_path: Path, name: str) -> None:
    _scaffolded(tmp_path, torch=True)
    own = tmp_path / "torch_droplet" / name
    own.write_text("# mine\n")
    _scaffolded(tmp_path, torch=True)
    assert own.read_text() == "# mine\n"
