"""`OPTOOLS=compare python train.py`: a tool for a program that does not know of it.

torch calls `autoload` when it is imported. OPTOOLS has the name of a tool and its options as `python -m optools` takes
them: `OPTOOLS="time --folder times --steps 2:"`.
"""

from __future__ import annotations

import atexit
import os
import shlex
import sys

VARIABLE = "OPTOOLS"
_started = False


def autoload() -> None:
    """Starts the tool that the environment names; without one nothing is imported."""
    words = os.environ.get(VARIABLE, "")
    if words:
        start(words)


def start(words: str) -> None:
    """Starts a tool until the end of the process; what is wrong with the words is printed, and ends the process."""
    global _started
    if _started:
        return
    _started = True
    from optools.cli import tool_of_words

    try:
        tool, report = tool_of_words(shlex.split(words))
    except Exception as reason:
        print(f"optools: OPTOOLS={words}: {reason}", file=sys.stderr)
        raise SystemExit(2) from None

    def finish() -> None:
        tool.stop()
        if tool.calls_seen or tool.selection.asked:
            from optools.cli import reported

            reported(tool, report)
            sys.stdout.flush()

    tool.start()
    atexit.register(finish)
