"""An optional library or program that was removed after a build is looked for again."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_cached_path_is_cleared_once_its_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "there.so").touch()
    (tmp_path / "script.cmake").write_text(f"""
include("{ROOT}/impl/core/cmake/forget_removed.cmake")
set(THERE "{tmp_path}/there.so" CACHE FILEPATH "")
set(GONE "{tmp_path}/gone.so" CACHE FILEPATH "")
diopigen_forget_removed(THERE)
diopigen_forget_removed(GONE)
diopigen_forget_removed(NEVER_SET)
message("THERE ${{THERE}}, GONE ${{GONE}}")
""")
    done = subprocess.run(["cmake", "-P", "script.cmake"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == f"THERE {tmp_path}/there.so, GONE \n"


def test_every_optional_library_is_looked_for_again() -> None:
    for path in (ROOT / "CMakeLists.txt", *ROOT.glob("impl/*/cmake/*.cmake"), *ROOT.glob("impl/*/CMakeLists.txt")):
        text = path.read_text()
        for line in text.splitlines():
            if line.strip().startswith(("find_path(", "find_library(", "find_program(")):
                name = line.split("(")[1].split()[0]
                forgotten = f"diopigen_forget_removed({name})"
                listed = name.removeprefix("DIOPIGEN_") in text.partition("foreach(path")[2].partition(")")[0].split()
                assert forgotten in text or listed, f"{path}: {name}"
