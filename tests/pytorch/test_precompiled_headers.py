"""How the backend is compiled without a compiler cache: over precompiled headers."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import torch
from run_kind import ROOT

HEADERS = "cmake_pch.hxx"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """By source, the words of the command that compiles it; of the headers themselves as well."""
    folder = tmp_path_factory.mktemp("configured")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DDIOPIGEN_TORCH_PRECOMPILE=ON"]
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "runtime/torch", "-B", folder, *options, prefix],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    entries = json.loads((folder / "compile_commands.json").read_text())
    return {entry["file"]: shlex.split(entry["command"]) for entry in entries}


def optimization(words: list[str]) -> str:
    """The level that counts: the last one."""
    return [word for word in words if re.fullmatch(r"-O[0-3sgz]|-Ofast", word)][-1]


def test_headers_are_precompiled_as_the_sources_that_take_them(commands: dict[str, list[str]]) -> None:
    """GCC 12 crashes where levels of optimization differ: a source with a level of its own takes no such headers."""
    (level,) = {optimization(words) for file, words in commands.items() if HEADERS in file}
    taking = {file: words for file, words in commands.items() if any(word.endswith(HEADERS) for word in words)}
    sources = {file: words for file, words in taking.items() if HEADERS not in file}
    assert len(sources) > 40
    assert {
        Path(file).name: optimization(words) for file, words in sources.items() if optimization(words) != level
    } == {}
