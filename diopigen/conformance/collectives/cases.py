"""The cases of the suite of collectives, derived from the spec: functions, dtypes, counts, groups, constraints."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.conformance.collectives.model import CollectiveCase, groups
from diopigen.conformance.collectives.oracle import ORACLES, can_reduce
from diopigen.conformance.dtypes import STORAGE
from diopigen.ir.model import Function, Interface
from diopigen.ir.types import INTEGERS
from diopigen.spec.interval import Interval

COUNTS = (0, 1, 3, 1000, 4097)
LONG = 140_001
"""Elements of the calls that no library sends as one message."""
_RANKS = frozenset({"root", "peer"})
_NO_VALUE = 4242
"""A number that no enum has."""


def operations(interface: Interface) -> tuple[str, ...]:
    """The names of the reduce operations: the values of diopiReduceOp_t."""
    found = interface.enum("diopiReduceOp_t")
    return tuple(value.name for value in found.values) if found is not None else ()


def collectives(interface: Interface) -> list[Function]:
    """The functions that move elements and have an oracle, in the order of the header. Recv is called by the cases of
    Send, which has no result of its own."""
    return [f for f in interface.functions if f.is_collective and f.name in ORACLES]


def cases(interface: Interface, nranks: int) -> list[CollectiveCase]:
    """All cases for a number of ranks but those that end a rank."""
    found: list[CollectiveCase] = []
    for function in collectives(interface):
        found += _of(interface, function, nranks)
    return found


def ended(interface: Interface) -> list[CollectiveCase]:
    """The cases in which a rank ends instead of calling; each takes processes of its own."""
    names = {function.name for function in collectives(interface)}
    return [
        CollectiveCase(name, "ended", count=1000, op="ReduceOpSum" if name == "diopiAllReduce" else "", root=root)
        for name, root in (("diopiAllReduce", -1), ("diopiBroadcast", 0), ("diopiAllGather", -1))
        if name in names
    ]


def _of(interface: Interface, function: Function, nranks: int) -> Iterator[CollectiveCase]:
    params = {param.name for param in function.params}
    ops = operations(interface) if "op" in params else ("",)
    roots = tuple(dict.fromkeys((0, nranks - 1))) if "root" in params else (-1,)
    name, first, last = function.name, ops[0], roots[-1]
    for op in ops:
        for dtype in STORAGE:
            if not op or can_reduce(dtype, op):
                yield CollectiveCase(name, "dtype", dtype, op=op, root=last)
    for count in COUNTS:
        for root in roots:
            yield CollectiveCase(name, "count", count=count, op=first, root=root)
    yield CollectiveCase(name, "count", count=LONG, op=ops[-1], root=last)
    yield CollectiveCase(name, "count", "int8", LONG, op=first, root=last)
    if any(param.elements is not None and param.elements.in_place is not None for param in function.params):
        for count in (0, 5, LONG):
            yield CollectiveCase(name, "place", count=count, op=first, root=last, in_place=True)
    for group, members in groups(nranks).items():
        if group != "world":
            root = len(members) - 1 if "root" in params else -1
            yield CollectiveCase(name, "group", count=100, op=first, root=root, group=group)
    yield CollectiveCase(name, "order", count=33, op=first, root=last, repeats=20)
    yield CollectiveCase(name, "streams", count=LONG, op=first, root=last, second="twin")
    yield from _refusals(function, first, nranks)


def _refusals(function: Function, op: str, nranks: int) -> Iterator[CollectiveCase]:
    """Calls that break a range or name what an enum lacks: all ranks make them, and nothing is sent."""
    params = {param.name: param for param in function.params}
    root = 0 if "root" in params else -1
    for constraint in function.constraints:
        key = constraint.key
        if key is None or not isinstance(key.form, Interval) or params[key.parameter].type not in INTEGERS:
            continue
        values = [-1, nranks] if key.parameter in _RANKS else [-1]
        for value in values:
            yield CollectiveCase(
                function.name, "refusal", op=op, root=root, wrong={key.parameter: value}, breaks=constraint.id,
                error=constraint.error,
            )  # fmt: skip
    for name, error in (("op", "diopiErrorOccurred"), ("datatype", "diopiDtypeNotSupported")):
        if name in params:
            yield CollectiveCase(
                function.name, "refusal", op=op, root=root, wrong={name: _NO_VALUE}, error=error,
                breaks=f"{name} is a value of its enum",
            )  # fmt: skip
