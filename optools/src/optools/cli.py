"""`python -m optools TOOL [options] PROGRAM [arguments]`, and tools that read what these wrote.

Exit codes: 0 nothing is wrong, 1 something is, 2 wrong usage; a program that fails ends with its own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from optools.expression import ExpressionError
from optools.script import run_script

USAGE = 2
Command = Callable[[argparse.Namespace], int]


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    parser = build_parser()
    options = parser.parse_args(words)
    from optools.store import FolderError

    try:
        command: Command = options.command
        return command(options)
    except (FolderError, ExpressionError) as reason:
        print(f"optools: {reason}", file=sys.stderr)
        return USAGE


def build_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = argparse.ArgumentParser(prog="optools", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="TOOL")

    def add(name: str, command: Command, text: str, program: bool = True) -> argparse.ArgumentParser:
        own = commands.add_parser(name, help=text, description=text)
        own.set_defaults(command=command)
        if program:
            selection_options(own)
        return own

    capture = add("capture", _capture, "write the calls of a program to a folder")
    capture.add_argument("--folder", default="optools_captures", help="where captures go")
    capture.add_argument("--shapes", action="store_true", help="shapes and names alone, not the operands")
    capture.add_argument("--budget", type=_bytes, default="1G", help="bytes of operands at most, such as 200M")
    program_words(capture)

    listed = add("list", _list, "list captured calls", False)
    listed.add_argument("folder")
    filters(listed)

    shown = add("show", _show, "show captured calls with their operands", False)
    shown.add_argument("folder")
    shown.add_argument("calls", nargs="+", type=int)

    again = add("replay", _replay, "run captured calls again and compare them with the CPU", False)
    again.add_argument("folder")
    again.add_argument("calls", nargs="*", type=int)
    again.add_argument("--device", help="where to run them; default: where they were captured")
    filters(again)

    compare = add("compare", _compare, "compare each operator with the CPU, in a program or in a folder of captures")
    compare.add_argument("--folder", default="optools_compare", help="where wrong calls are captured")
    compare.add_argument("--repeat", action="store_true", help="run each call twice: finds results that vary")
    compare.add_argument("--accumulated", action="store_true", help="follow the whole program in float64 too")
    compare.add_argument("--device", help="of captured calls: where to run them")
    program_words(compare)
    return parser


def selection_options(parser: argparse.ArgumentParser) -> None:
    """Which calls a tool is for."""
    parser.add_argument("--ops", default="", help="expressions for operators or API functions, separated by commas")
    parser.add_argument("--exclude", default="", help="expressions for operators that are left out")
    parser.add_argument("--modules", default="", help="expressions for paths of modules")
    parser.add_argument("--steps", default=None, help="training steps: 3, 3:10 or ::100")
    parser.add_argument("--phases", default="", help="forward, backward, recompute, optimizer")
    parser.add_argument("--sample", type=float, default=1.0, help="the fraction of calls, chosen at random")


def program_words(parser: argparse.ArgumentParser) -> None:
    """The program, after all options."""
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="FILE or -m MODULE, and arguments")


def filters(parser: argparse.ArgumentParser) -> None:
    """Which calls of a folder are meant."""
    parser.add_argument("--ops", default="", help="expressions for operators, separated by commas")
    parser.add_argument("--modules", default="", help="expressions for paths of modules")


def selection(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `selection_options` as arguments of a tool."""
    names = ("ops", "exclude", "modules", "steps", "phases", "sample")
    return {name: getattr(options, name) for name in names}


def run_with(tool: Any, options: argparse.Namespace) -> int:
    """Runs the program with a tool; exit code of the program."""
    words = [word for word in options.program if word != "--"] if options.program[:1] == ["--"] else options.program
    if not words:
        raise ExpressionError("no program is named: optools TOOL [options] PROGRAM [arguments]")
    with tool:
        code = run_script(words)
    for reason, count in sorted(tool.skipped.items(), key=lambda item: -item[1]):
        print(f"optools: not looked at, {count} times: {reason}", file=sys.stderr)
    return code


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    return int(float(number) * unit)


def _capture(options: argparse.Namespace) -> int:
    from optools.capture import Capture

    tool = Capture(options.folder, operands=not options.shapes, budget=options.budget, **selection(options))
    code = run_with(tool, options)
    print(f"optools: {tool.count} calls, {tool.store.used} bytes of operands in {tool.folder}")
    return code


def _filtered(options: argparse.Namespace) -> Callable[[Any], bool]:
    from optools.expression import Names

    ops, modules = Names(options.ops), Names(options.modules)

    def takes(call: Any) -> bool:
        names = [call.op, call.op.partition(".")[0], call.line["api"], call.line["api"].rpartition(".")[2]]
        return (not ops or ops.any(names)) and (not modules or modules.match(call.line["module"]))

    return takes


def _list(options: argparse.Namespace) -> int:
    from optools.replay import list_table
    from optools.store import read_calls

    takes = _filtered(options)
    print(list_table(call for call in read_calls(Path(options.folder)) if takes(call)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from optools.replay import show
    from optools.store import FolderError, read_calls

    calls = {call.number: call for call in read_calls(Path(options.folder))}
    for number in options.calls:
        if number not in calls:
            raise FolderError(f"{options.folder} has no call {number}")
        print(show(calls[number]))
    return 0


def _replay(options: argparse.Namespace) -> int:
    from optools.replay import outcome_table, replay

    outcomes = replay(options.folder, options.calls, device=options.device, takes=_filtered(options))
    print(outcome_table(outcomes))
    counts = {state: sum(one.state == state for one in outcomes) for state in ("right", "wrong", "failed", "skipped")}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if counts["wrong"] or counts["failed"] else 0


def _compare(options: argparse.Namespace) -> int:
    if len(options.program) == 1 and Path(options.program[0]).is_dir():
        options.folder, options.calls = options.program[0], []
        return _replay(options)
    from optools.compare import Compare

    more = {"folder": options.folder, "repeat": options.repeat, "accumulated": options.accumulated}
    tool = Compare(**more, **selection(options))
    code = run_with(tool, options)
    print(tool.report.table())
    first = tool.report.first
    if first is None:
        print("optools: no operator is wrong")
        return code
    print(f"optools: {len(tool.report.findings)} wrong calls; the first wrong operator is")
    print(first.text())
    return code or 1
