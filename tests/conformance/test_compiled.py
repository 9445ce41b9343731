"""Programs that are compiled when they are first needed."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diopigen.conformance.run.compiled import Recipe, compiled

pytestmark = pytest.mark.build

AT_ONCE = 4


def test_what_is_needed_several_times_at_once_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path))
    recipe = Recipe(
        name="seven",
        code="runtime-build",
        product="the program",
        reason="a test",
        written={"seven.cpp": b"int main() { return 7; }\n"},
        sources=(),
        includes=(),
        flags=("-O0",),
        is_program=True,
    )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = set(pool.map(lambda _: compiled(recipe), range(AT_ONCE)))
    assert len(found) == 1
    assert subprocess.run([found.pop()], check=False).returncode == 7
    assert capsys.readouterr().err == "a test: building the program, once\n"
