"""Runs a program within this process, as `python program.py` would."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def run_script(words: Sequence[str]) -> int:
    """Runs `FILE ARGUMENT...` or `-m MODULE ARGUMENT...`; returns its exit code. An exception ends as it does in
    Python, after the tools have been stopped by the caller."""
    if not words:
        raise ValueError("no program is named")
    saved_argv, saved_path = sys.argv, list(sys.path)
    try:
        if words[0] == "-m":
            sys.argv = [words[1], *words[2:]]
            sys.path[0] = str(Path.cwd())
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(words)
            sys.path[0] = str(Path(words[0]).resolve().parent)
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None:
            return 0
        if isinstance(end.code, int):
            return end.code
        print(end.code, file=sys.stderr)
        return 1
    finally:
        sys.argv, sys.path = saved_argv, saved_path
    return 0
