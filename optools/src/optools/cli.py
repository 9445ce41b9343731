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
Maker = Callable[[argparse.Namespace], tuple[Any, Callable[[], int]]]
"""Makes a tool, and what prints its report and gives an exit code."""


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

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        own = commands.add_parser(name, help=text, description=text)
        own.set_defaults(command=command)
        return own

    def tool(name: str, make: Maker, text: str, folder: str = "") -> argparse.ArgumentParser:
        own = add(name, _run, text)
        own.set_defaults(make=make)
        selection_options(own)
        if folder:
            own.add_argument("--folder", default=folder, help="where results go")
        return own

    capture = tool("capture", _capture, "write the calls of a program to a folder", "optools_captures")
    capture.add_argument("--shapes", action="store_true", help="shapes and names alone, not the operands")
    capture.add_argument("--budget", type=_bytes, default="1G", help="bytes of operands at most, such as 200M")
    program_words(capture)

    compare = tool(
        "compare", _compare, "compare each operator with the CPU, in a program or in captures", "optools_compare"
    )
    compare.add_argument("--repeat", action="store_true", help="run each call twice: finds results that vary")
    compare.add_argument("--accumulated", action="store_true", help="follow the whole program in float64 too")
    compare.add_argument("--stop-after", type=int, default=0, metavar="N", help="look no further after N wrong calls")
    compare.add_argument("--device", help="of captured calls: where to run them")
    namespaces(compare)
    program_words(compare)
    compare.set_defaults(command=_compare_command)

    overflow = tool("overflow", _overflow, "find the first operator that makes inf or NaN", "optools_overflow")
    program_words(overflow)

    timing = tool("time", _time, "measure operators by shape", "optools_time")
    timing.add_argument("--synchronous", action="store_true", help="wait for the device after each call")
    timing.add_argument("--no-shapes", action="store_true", help="one row for each operator")
    timing.add_argument("--rows", type=int, default=30, help="rows to print")
    timing.add_argument(
        "--diff", metavar="FOLDER", help="compare with the times of another run; without a program, --folder's"
    )
    program_words(timing)
    timing.set_defaults(command=_time_command)

    cast = tool("cast", _cast, "run operators in another dtype")
    cast.add_argument(
        "--dtypes", default="float16->float32,bfloat16->float32", help="float16->float32, or float64 for all"
    )
    program_words(cast)

    fallback = tool("fallback", _fallback, "run operators on the CPU")
    program_words(fallback)

    bisect = add("bisect", _bisect, "find the first wrong operator of a program with few comparisons")
    bisect.add_argument("--folder", default="optools_bisect", help="where the runs are written")
    seeded(bisect)
    program_words(bisect)

    sums = tool("checksums", _checksums, "write checksums of modules and parameters", "optools_checksums")
    sums.add_argument("--on-cpu", action="store_true", help="run every operator on the CPU")
    sums.add_argument("--changed", default="", help="operators that run on the CPU, or with --dtypes in another dtype")
    sums.add_argument("--dtypes", default="", help="float16->float32, or float64 for all")
    program_words(sums)

    effect = add("effect", _effect, "what changes the loss: one run for each operator on the CPU or in another dtype")
    effect.add_argument("--folder", default="optools_effect", help="where the runs are written")
    effect.add_argument(
        "--ops", default="", help="names of operators, separated by commas; default: all that are called"
    )
    effect.add_argument("--dtypes", default="", help="cast to these instead of running on the CPU")
    seeded(effect)
    program_words(effect)

    page = add("report", _report, "write an HTML page of what other tools wrote")
    page.add_argument("folders", nargs="+")
    page.add_argument("--out", default="optools.html")
    page.add_argument("--title", default="optools")

    diff = add("diff", _diff, "compare the checksums of two runs step by step")
    diff.add_argument("folder")
    diff.add_argument("other")

    listed = add("list", _list, "list captured calls")
    listed.add_argument("folder")
    filters(listed)

    shown = add("show", _show, "show captured calls with their operands")
    shown.add_argument("folder")
    shown.add_argument("calls", nargs="+", type=int)

    cases = add("to-cases", _to_cases, "make conformance cases of diopigen, a model table, from captures")
    cases.add_argument("folder")
    cases.add_argument("--out", required=True, help="the table: SPEC/models/NAME.yaml; NAME is that of the model")
    cases.add_argument("--values", type=int, default=32, help="elements of a tensor up to which a case has its values")
    filters(cases)

    again = add("replay", _replay, "run captured calls again and compare them with the CPU")
    again.add_argument("folder")
    again.add_argument("calls", nargs="*", type=int)
    again.add_argument("--device", help="where to run them; default: where they were captured")
    namespaces(again)
    filters(again)
    return parser


def tool_of_words(words: Sequence[str]) -> tuple[Any, Callable[[], int]]:
    """The tool of a command line without a program, and what prints its report. Raises `ExpressionError`."""
    options = build_parser().parse_args(list(words))
    if not hasattr(options, "make"):
        raise ExpressionError("this command runs no program")
    tool, report = options.make(options)
    return tool, report


def selection_options(parser: argparse.ArgumentParser) -> None:
    """Options that select the calls of a tool."""
    parser.add_argument("--ops", default="", help="expressions for operators or API functions, separated by commas")
    parser.add_argument("--exclude", default="", help="expressions for operators that are left out")
    parser.add_argument("--modules", default="", help="expressions for paths of modules")
    parser.add_argument("--steps", default=None, help="training steps: 3, 3:10 or ::100")
    parser.add_argument("--phases", default="", help="forward, backward, recompute, optimizer")
    parser.add_argument("--sample", type=float, default=1.0, help="the fraction of calls, chosen at random")
    seeded(parser)


def seeded(parser: argparse.ArgumentParser) -> None:
    """The seed that the program starts with."""
    parser.add_argument("--seed", type=int, help="seed torch and random before the program starts")


def program_words(parser: argparse.ArgumentParser) -> None:
    """The program, after all options."""
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="FILE or -m MODULE, and arguments")


def namespaces(parser: argparse.ArgumentParser) -> None:
    """Libraries other than ATen whose operators a folder may call."""
    parser.add_argument(
        "--namespace", action="append", default=[], help="also run operators of this library, such as torchvision"
    )


def filters(parser: argparse.ArgumentParser) -> None:
    """Options that select the calls of a folder."""
    parser.add_argument("--ops", default="", help="expressions for operators, separated by commas")
    parser.add_argument("--modules", default="", help="expressions for paths of modules")


def selection(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `selection_options` as arguments of a tool."""
    names = ("ops", "exclude", "modules", "steps", "phases", "sample")
    return {name: getattr(options, name) for name in names}


def _run(options: argparse.Namespace) -> int:
    """Runs the program with the tool of the command; the exit code of the program, else of the tool."""
    words = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not words:
        raise ExpressionError("no program is named: optools TOOL [options] PROGRAM [arguments]")
    if options.seed is not None:
        import random

        import torch

        random.seed(options.seed)
        torch.manual_seed(options.seed)
    tool, report = options.make(options)
    with tool:
        code = run_script(words)
    wrong = reported(tool, report)
    return code or wrong


def reported(tool: Any, report: Callable[[], int]) -> int:
    """Prints what a tool did, after the program; returns the exit code. A tool that looked at nothing found nothing
    out: that is no success."""
    for reason, count in sorted(tool.skipped.items(), key=lambda item: -item[1]):
        print(f"optools: not looked at, {count} times: {reason}", file=sys.stderr)
    try:
        tool.require_known()
    except ExpressionError as reason:
        print(f"optools: {reason}", file=sys.stderr)
        return USAGE
    if not tool.calls_seen:
        print("optools: no call of the program is selected", file=sys.stderr)
        return 1
    return report()


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    return int(float(number) * unit)


def _capture(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.capturing import Capture

    tool = Capture(options.folder, operands=not options.shapes, budget=options.budget, **selection(options))

    def report() -> int:
        print(f"optools: {tool.count} calls, {tool.store.used} bytes of operands in {tool.folder}")
        return 0

    return tool, report


def _selected(options: argparse.Namespace) -> list[Any]:
    """The calls of the folder that the filters leave. Raises `ExpressionError` for a filter that nothing matches."""
    from optools.expression import Names
    from optools.store import read_calls

    ops, modules = Names(options.ops), Names(options.modules)

    def takes(call: Any) -> bool:
        names = [call.op, call.op.partition(".")[0], call.line["api"], call.line["api"].rpartition(".")[2]]
        return (not ops or ops.any(names)) and (not modules or modules.match(call.line["module"]))

    calls = [call for call in read_calls(Path(options.folder)) if takes(call)]
    ops.require_known("captured operator")
    modules.require_known("module of a captured call")
    if not calls:
        raise ExpressionError(f"{options.folder}: no captured call is selected")
    return calls


def _list(options: argparse.Namespace) -> int:
    from optools.replaying import list_table

    print(list_table(_selected(options)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from optools.replaying import show
    from optools.store import FolderError, read_calls

    calls = {call.number: call for call in read_calls(Path(options.folder))}
    for number in options.calls:
        if number not in calls:
            raise FolderError(f"{options.folder} has no call {number}")
        print(show(calls[number]))
    return 0


def _replay(options: argparse.Namespace) -> int:
    from optools.replaying import outcome_table, replay

    numbers = {call.number for call in _selected(options)}
    outcomes = replay(
        options.folder,
        options.calls,
        device=options.device,
        takes=lambda call: call.number in numbers,
        namespaces=options.namespace,
    )
    print(outcome_table(outcomes))
    counts = {state: sum(one.state == state for one in outcomes) for state in ("right", "wrong", "failed", "skipped")}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    if counts["skipped"] == len(outcomes):
        print("optools: no call was compared")
        return 1
    return 1 if counts["wrong"] or counts["failed"] else 0


def _compare_command(options: argparse.Namespace) -> int:
    if len(options.program) == 1 and Path(options.program[0]).is_dir():
        options.folder, options.calls = options.program[0], []
        return _replay(options)
    return _run(options)


def _compare(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.comparing import Compare

    more = {"folder": options.folder, "repeat": options.repeat, "accumulated": options.accumulated}
    tool = Compare(**more, stop_after=options.stop_after, **selection(options))

    def report() -> int:
        print(tool.report.table())
        first = tool.report.first
        if not tool.report.totals:
            print("optools: no call was compared")
            return 1
        if first is None:
            print("optools: no operator is wrong")
            return 0
        print(f"optools: {len(tool.report.findings)} wrong calls; the first wrong operator is")
        print(first.text())
        return 1

    return tool, report


def _overflow(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.overflowing import Overflows

    tool = Overflows(folder=options.folder, **selection(options))

    def report() -> int:
        print(tool.table())
        first = tool.first
        if first is None:
            print("optools: no operator makes inf or NaN of finite inputs")
            return 0
        print(f"optools: {len(tool.found)} calls make inf or NaN of finite inputs; the first is")
        print(first.text())
        return 1

    return tool, report


def _time(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.timing import Timing, comparison, read_csv

    tool = Timing(
        folder=options.folder, synchronous=options.synchronous, shapes=not options.no_shapes, **selection(options)
    )

    def report() -> int:
        print(tool.table(options.rows))
        if tool.dropped:
            print(f"optools: the trace has no room for {tool.dropped} calls; the table counts them", file=sys.stderr)
        if options.diff:
            print(comparison(read_csv(Path(options.diff)), tool.rows(), options.rows))
        return 0

    return tool, report


def _time_command(options: argparse.Namespace) -> int:
    if options.program or not options.diff:
        return _run(options)
    from optools.timing import comparison, read_csv

    print(comparison(read_csv(Path(options.diff)), read_csv(Path(options.folder)), options.rows))
    return 0


def _cast(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.casting import Cast

    tool = Cast(dtypes=options.dtypes, **selection(options))
    return tool, lambda: _counted(tool.counts, f"cast, {options.dtypes}")


def _fallback(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.falling_back import Fallback

    tool = Fallback(**selection(options))
    return tool, lambda: _counted(tool.counts, "run on the CPU")


def _counted(counts: Any, what: str) -> int:
    calls = ", ".join(f"{op} {count}" for op, count in counts.most_common()) or "none"
    print(f"optools: calls that were {what}: {calls}")
    return 0


def _bisect(options: argparse.Namespace) -> int:
    from optools.bisecting import bisect

    try:
        found = bisect(options.program, Path(options.folder), options.seed if options.seed is not None else 0)
    except RuntimeError as reason:
        print(f"optools: {reason}", file=sys.stderr)
        return USAGE
    print(found.text())
    return 0 if found.step is None and found.seeded else 1


def _checksums(options: argparse.Namespace) -> tuple[Any, Callable[[], int]]:
    from optools.checksums import Checksums

    change: Any = None
    if options.changed:
        from optools.casting import Cast
        from optools.falling_back import Fallback

        change = Cast(options.changed, options.dtypes) if options.dtypes else Fallback(options.changed)
    tool = Checksums(options.folder, steps=options.steps, on_cpu=options.on_cpu, change=change)

    def report() -> int:
        print(f"optools: checksums in {options.folder}")
        return 0

    return tool, report


def _diff(options: argparse.Namespace) -> int:
    from optools.bisecting import BEYOND, steps_table
    from optools.checksums import read_events, step_rows

    rows = step_rows(read_events(Path(options.folder)), read_events(Path(options.other)), BEYOND)
    print(steps_table(rows))
    return 1 if any(row.first for row in rows) else 0


def _to_cases(options: argparse.Namespace) -> int:
    from optools.cases import table, validated

    path = Path(options.out)
    found = table(_selected(options), path.stem, options.values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(found.text, encoding="utf-8")
    problems = validated(path)
    for problem in problems:
        print(problem, file=sys.stderr)
    for reason, count in found.unmapped.most_common():
        print(f"optools: no case, {count} times: {reason}", file=sys.stderr)
    print(f"optools: {found.cases} cases of {found.calls} calls in {path}")
    return 1 if problems else 0


def _effect(options: argparse.Namespace) -> int:
    from optools.effects import effect_table, effects

    ops = [word for word in options.ops.split(",") if word]
    change = ["--dtypes", options.dtypes] if options.dtypes else []
    try:
        found = effects(options.program, Path(options.folder), change, ops, options.seed or 0)
    except RuntimeError as reason:
        print(f"optools: {reason}", file=sys.stderr)
        return USAGE
    print(effect_table(found))
    return 0


def _report(options: argparse.Namespace) -> int:
    from optools.report import report

    Path(options.out).write_text(report([Path(one) for one in options.folders], options.title), encoding="utf-8")
    print(f"optools: {options.out}")
    return 0
