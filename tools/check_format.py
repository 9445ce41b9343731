"""Fails where handwritten or generated C and C++ is not as the pinned clang-format lays it out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    files = [name for name in listed.stdout.splitlines() if Path(name).suffix in SUFFIXES and (root / name).exists()]
    files = [name for name in files if "/data/" not in name and not name.startswith("third_party/")]
    if not files:
        return 0
    formatter = Path(sys.executable).parent / "clang-format"
    return subprocess.run([str(formatter), "--dry-run", "--Werror", *files], cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
