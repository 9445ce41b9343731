"""Lines that a change adds and removes in files written by hand, folder by folder.

`python tools/line_difference.py [BASE]` compares the checkout with BASE; without it with the branch point from
origin/main, or with the commit before where HEAD is on it. Where history is too short for that, one line says so.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = (":!generated", ":!third_party", ":!specs/aten", ":!*.json", ":!*.jsonl", ":!diopi_ffi/operators.pyi")
"""Files that programs write."""


def main(arguments: list[str]) -> int:
    try:
        base = arguments[0] if arguments else branch_point()
        output = git("diff", "--numstat", "--no-renames", base, "--", ".", *LEFT_OUT)
    except subprocess.CalledProcessError as error:
        print(f"lines: nothing to compare with ({(error.stderr.strip() or 'no commit before').splitlines()[0]})")
        return 0
    print(table(output, base[:12]))
    return 0


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def branch_point() -> str:
    """The commit that the checkout departs from. Raises `CalledProcessError` where history does not have it."""
    head = git("rev-parse", "HEAD")
    try:
        base = git("merge-base", "HEAD", "origin/main")
    except subprocess.CalledProcessError:
        base = head
    return git("rev-parse", "--verify", "--quiet", "HEAD~1").strip() if base == head else base.strip()


def table(numstat: str, base: str) -> str:
    """The sums of `git diff --numstat` for each folder at the root, and of all; files at the root are `.`."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in numstat.splitlines():
        added, removed, path = line.split("\t")
        if added == "-":
            continue  # not a text
        for folder in (path.partition("/")[0] if "/" in path else ".", "all"):
            sums[folder][0] += int(added)
            sums[folder][1] += int(removed)
    lines = [f"lines by hand since {base}:" if sums else f"lines by hand since {base}: none"]
    width = max(map(len, sums), default=0)
    for folder in sorted(sums, key=lambda name: (name == "all", name)):
        more, less = sums[folder]
        lines.append(f"  {folder:<{width}} {f'+{more}':>7} {f'-{less}':>7} {more - less:>+7}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
