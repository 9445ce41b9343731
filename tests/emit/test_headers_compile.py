"""Each header compiles alone under every standard with all warnings as errors, with gcc and clang.

Recipe: COMPILER -std=STANDARD -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I include unit, where the unit includes
each header twice (the guards hold).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from programs import program
from test_headers_facts import ORDER

C_STANDARDS = ("c11", "c17", "c2x")
CXX_STANDARDS = ("c++11", "c++14", "c++17", "c++20", "c++2b")
CASES = [("gcc", "g++", "c", standard) for standard in C_STANDARDS]
CASES += [("g++", "g++", "c++", standard) for standard in CXX_STANDARDS]
CASES += [("clang", "clang", "c", standard) for standard in C_STANDARDS]
CASES += [("clang++", "clang", "c++", standard) for standard in CXX_STANDARDS]


@pytest.mark.parametrize(("compiler", "package", "language", "standard"), CASES)
def test_each_header_compiles_alone(
    compiler: str, package: str, language: str, standard: str, header_folder: Path
) -> None:
    command = program(compiler, package)
    for header in ORDER:
        done = subprocess.run(
            [
                command,
                f"-std={standard}",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-fsyntax-only",
                "-x",
                language,
                "-I",
                str(header_folder),
                "-",
            ],
            input=f"#include <diopi/{header}>\n#include <diopi/{header}>\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{header} under {standard}:\n{done.stderr}"


@pytest.mark.parametrize(("compiler", "language"), [("gcc", "c"), ("g++", "c++")])
def test_a_frozen_layout_refuses_a_compiler_that_lays_it_out_otherwise(
    compiler: str, language: str, header_folder: Path
) -> None:
    done = subprocess.run(
        [compiler, "-fshort-enums", "-fsyntax-only", "-x", language, "-I", str(header_folder), "-"],
        input="#include <diopi/diopirt.h>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "size of diopiError_t" in done.stderr
