"""A vendor's known exceptions: cases that are skipped, held to a looser bound, or of a dtype that the device lacks.

    skip:
      - cases: diopiErfinv/*
        reason: not planned for this chip
    tolerance:
      - cases: diopiSoftmax/float16/*
        factor: 4
        reason: the exponential unit has 8 bits
    unsupported:
      - functions: diopiConvolution*
        dtypes: [float64]
        reason: no float64 units

Globs stand for case ids and for function names. Every entry says why, and none may be dead. A case of an unsupported
dtype is still called: the library has to refuse it and to leave the outputs alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from diopigen.conformance.cases.suite import cases_of, tested
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import ANY_FAILURE, Case, CaseResult, Waiver, operands_of
from diopigen.contract.dtypes import category
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.model import Function, Interface
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import Field, ListShape, LiteralShape, RecordShape, TextShape, validate
from diopigen.spec.yaml_reader import load_yaml

MAX_FACTOR = 10_000

_REASON = Field(TextShape(), "why the library cannot do better", required=True)
_CASES = Field(TextShape(), "a glob over case ids, such as diopiAdd/float16/*", required=True)
SHAPE = RecordShape(
    "known exceptions",
    {
        "skip": Field(
            ListShape(RecordShape("skip", {"cases": _CASES, "reason": _REASON}), non_empty=True),
            "cases that are not called",
        ),
        "tolerance": Field(
            ListShape(
                RecordShape(
                    "tolerance",
                    {
                        "cases": _CASES,
                        "factor": Field(LiteralShape(), "what the bound is multiplied with, above 1", required=True),
                        "reason": _REASON,
                    },
                ),
                non_empty=True,
            ),
            "cases that are held to a looser bound",
        ),
        "unsupported": Field(
            ListShape(
                RecordShape(
                    "unsupported",
                    {
                        "functions": Field(
                            TextShape(), "a glob over function names, such as diopiConv*", required=True
                        ),
                        "dtypes": Field(
                            ListShape(TextShape(), non_empty=True), "dtypes that are refused", required=True
                        ),
                        "reason": _REASON,
                    },
                ),
                non_empty=True,
            ),
            "dtypes that functions refuse",
        ),
    },
)
"""The grammar of the file; the kinds in the order in which they claim a case."""


@dataclass(frozen=True, slots=True)
class Known:
    """One entry: what it waives, the glob that says of which cases, and where it stands."""

    waiver: Waiver
    glob: str
    span: Span
    dtypes: frozenset[str] = frozenset()

    def names(self, case: Case) -> bool:
        """Returns whether the entry is about a case, or without an overload about those of all overloads."""
        if not self.dtypes:
            return fnmatchcase(case.id, self.glob) or fnmatchcase(case.id.partition("@")[0], self.glob)
        return fnmatchcase(case.function, self.glob) and not self.dtypes.isdisjoint(operand_dtypes(case))

    def names_elsewhere(self, case: Case, function: Function) -> bool:
        """Returns whether the entry is about a case of its function, through any of its overloads."""
        overloads = (replace(case, id=f"{case.id}@{one.name}") for one in function.aten)
        return self.names(case) or ("@" in self.glob and any(map(self.names, overloads)))

    def may_name(self, function: str) -> bool:
        """False where the entry is about no case of a function, by what its glob begins with."""
        fixed = re.split(r"[*?[]", self.glob, maxsplit=1)[0]
        return f"{function}/".startswith(fixed[: len(function) + 1])


def operand_dtypes(case: Case) -> set[str]:
    """The dtypes of the tensors of a case."""
    return {operand.dtype for operand in operands_of(case.arguments.values())}


def read(path: Path, display: str, sink: Sink) -> tuple[Known, ...]:
    """The entries of a file, in the order in which they claim cases. What is wrong with it goes to `sink`."""
    root = load_yaml(path, display, sink)
    if root is None or not validate(root, SHAPE, "the file of known exceptions", sink):
        return ()
    assert isinstance(root, MappingNode)
    found = []
    for kind in SHAPE.fields:
        entries = root.get(kind)
        for entry in entries.items if isinstance(entries, SequenceNode) else ():
            assert isinstance(entry, MappingNode)
            known = _entry(kind, entry, sink)
            if known is not None:
                found.append(known)
    return tuple(found)


def _entry(kind: str, entry: MappingNode, sink: Sink) -> Known | None:
    glob_key = "functions" if kind == "unsupported" else "cases"
    glob, reason = _scalar(entry, glob_key), _scalar(entry, "reason")
    where = Span(glob.span.file, glob.span.line)
    good = True
    if not str(reason.value).strip():
        sink.error("exception-reason", "the reason is empty", reason.span, fix="say why the library cannot do better")
        good = False
    text = str(glob.value)
    if kind != "unsupported" and "/" not in text and text != "*":
        fix = f"write '{text}/*' for all cases of a function"
        sink.error("exception-bad-glob", f"'{text}' is no glob over case ids", glob.span, fix=fix)
        good = False
    factor = 1.0
    if kind == "tolerance":
        node = _scalar(entry, "factor")
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 < value <= MAX_FACTOR:
            message = f"a tolerance cannot be multiplied with {node.text}"
            sink.error("exception-factor", message, node.span, fix=f"give a number above 1 and at most {MAX_FACTOR}")
            good = False
        else:
            factor = float(value)
    dtypes = list(_dtypes(entry.get("dtypes")))
    for dtype in dtypes:
        if dtype.value not in STORAGE:
            fix = did_you_mean(str(dtype.value), STORAGE) or f"dtypes: {', '.join(STORAGE)}"
            sink.error("exception-dtype", f"there is no dtype '{dtype.value}'", dtype.span, fix=fix)
            good = False
    waiver = Waiver(kind, str(reason.value).strip(), f"{where.file}:{where.line}", factor)
    return Known(waiver, text, glob.span, frozenset(str(d.value) for d in dtypes)) if good else None


def _scalar(entry: MappingNode, key: str) -> ScalarNode:
    node = entry.get(key)
    assert isinstance(node, ScalarNode)  # the grammar has been checked
    return node


def _dtypes(node: Node | None) -> Iterator[ScalarNode]:
    for item in node.items if isinstance(node, SequenceNode) else ():
        assert isinstance(item, ScalarNode)
        yield item


def with_waivers(cases: Sequence[Case], known: Sequence[Known], interface: Interface, sink: Sink) -> list[Case]:
    """The cases with their waivers; of several entries the first counts. Dead entries and such as loosen what has no
    bound go to `sink`."""
    claims: dict[int, list[Case]] = {index: [] for index in range(len(known))}
    found = []
    for case in cases:
        index = next((index for index, entry in enumerate(known) if entry.names(case)), None)
        if index is None:
            found.append(case)
        else:
            claims[index].append(case)
            found.append(_waived(case, known[index].waiver))
    for index, entry in enumerate(known):
        if not claims[index]:
            _explain_unused(entry, known[:index], interface, sink)
        elif entry.waiver.kind == "tolerance":
            _check_bounds(entry, claims[index], interface, sink)
    return found


def _waived(case: Case, waiver: Waiver) -> Case:
    if waiver.kind != "unsupported":
        return replace(case, waiver=waiver)
    about = f"{waiver.where} calls its dtype unsupported"
    return replace(case, waiver=waiver, expect=ANY_FAILURE, about=about)


def _explain_unused(entry: Known, earlier: Sequence[Known], interface: Interface, sink: Sink) -> None:
    """An entry without cases in this run is a finding unless it has some outside of what was selected."""
    function_glob = entry.glob.partition("/")[0]
    functions = [f for f in tested(interface) if fnmatchcase(f.name, function_glob)]
    shadow = None
    for function in functions:
        for case in cases_of(interface, function):
            if entry.names_elsewhere(case, function):
                shadow = next((other for other in earlier if other.names(case)), None)
                if shadow is None:
                    return
    if shadow is not None:
        message = f"every case of '{entry.glob}' is claimed by line {shadow.span.line}"
        sink.error("exception-matches-nothing", message, entry.span, fix="remove one of the two")
        return
    about = f" with {' or '.join(sorted(entry.dtypes))}" if functions and entry.dtypes else ""
    names = [f.name for f in tested(interface)]
    near = None if functions else did_you_mean(function_glob, names)
    fix = near or "remove it, or list the cases with `diopigen conformance list`"
    sink.error("exception-matches-nothing", f"no case matches '{entry.glob}'{about}", entry.span, fix=fix)


def _check_bounds(entry: Known, cases: Sequence[Case], interface: Interface, sink: Sink) -> None:
    """At least one of the cases must have a bound that can be widened."""
    functions = {function.name: function for function in interface.functions}
    for case in cases:
        floating = any(category(dtype) >= 2 for dtype in operand_dtypes(case))
        if floating and functions[case.function].tolerance != "exact" and case.axis != "error":
            return
    message = f"'{entry.glob}' has exact results only, which a factor does not change"
    sink.error("exception-exact", message, entry.span, fix="fix the library, or move the entry to skip")


def unneeded(known: Sequence[Known], results: Sequence[CaseResult], sink: Sink) -> None:
    """Warns of looser tolerances that no case of a run needed."""
    ran: dict[str, set[str]] = {}
    for result in results:
        if result.case.waiver is not None:
            ran.setdefault(result.case.waiver.where, set()).add(result.outcome)
    for entry in known:
        if entry.waiver.kind == "tolerance" and ran.get(entry.waiver.where) == {"passed"}:
            message = f"all cases of '{entry.glob}' pass without a looser tolerance"
            sink.warning("exception-unneeded", message, entry.span, fix="remove the entry")
