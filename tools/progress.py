"""Commands that take long: their output goes to a log, and a person sees how far they are."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

NINJA = re.compile(r"^\[(\d+/\d+)[^\]]*\] (.*)")
SUITE = re.compile(r"^(\d+ of \d+ cases, .*)")
SECONDS = 10
"""Between two lines where the output is no terminal."""


class Line:
    """A line that changes, on a terminal; a line every ten seconds elsewhere, so that a log shows life."""

    def __init__(self, name: str) -> None:
        self.name, self.terminal = name, sys.stdout.isatty()
        self.started = self.last = time.monotonic()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.last < (0.1 if self.terminal else SECONDS):
            return
        self.last = now
        line = f"{self.name:10} {now - self.started:4.0f} s  {text}"
        print(f"\r\033[K{line[:110]}" if self.terminal else line, end="" if self.terminal else "\n", flush=True)

    def clear(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", flush=True)


def watched(
    name: str,
    command: Sequence[str | Path],
    log: Path,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = subprocess.STDOUT,
) -> int:
    """Runs a command and gives its exit code. What it prints goes to `log`, and how far it is to the terminal. `stdout`
    as subprocess takes it lets its results through and watches its errors alone."""
    line = Line(name)
    out, errors = (subprocess.PIPE, subprocess.STDOUT) if stdout == subprocess.STDOUT else (stdout, subprocess.PIPE)
    log.parent.mkdir(parents=True, exist_ok=True)
    env = None if environment is None else dict(environment)
    words = [str(word) for word in command]
    with (
        log.open("a") as retained,
        subprocess.Popen(words, cwd=folder, env=env, text=True, stdout=out, stderr=errors) as running,
    ):
        for text in running.stdout or running.stderr or ():
            retained.write(text)
            found = NINJA.match(text) or SUITE.match(text)
            if found:
                line.show("  ".join(group.rpartition("/")[2] if " " in group else group for group in found.groups()))
    line.clear()
    return running.returncode
