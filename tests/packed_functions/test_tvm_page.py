"""docs/tvm.md: its Python blocks run, in order, over the CPU library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")

PAGE = Path(__file__).resolve().parents[2] / "docs/tvm.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the libraries, as the page has them."""
    for name in ("libdiopi_impl.so", "libdiopirt.so", "libdiopi_tvm_ffi.so"):
        (tmp_path / name).symlink_to(artefact(name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.build
def test_the_block_on_numpy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[0], str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "[[0.09003057 0.24472848 0.66524094]]\n[[0 0]\n [0 1]\n [0 2]]\n"
    assert names["values"].tolist() == [[2, 4, 6]]


@pytest.mark.slow
def test_the_block_on_the_compiler(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed: pip install apache-tvm")
    pytest.importorskip("torch", reason="torch is not installed")
    names: dict[str, Any] = {}
    for block in BLOCKS[:2]:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "7 legalized, 0 views, 0 left (100%)" in capsys.readouterr().out
    compile(BLOCKS[2], str(PAGE), "exec")  # the CPU library's memory is that of the host: droplet's tests run this
