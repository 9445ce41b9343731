"""Prints a digest of the expected values and the id of every case of the functions that its arguments name; with
`--values FILE` in front of them, it writes the values and the errors that their oracles are granted instead."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from calls import call_of

from diopigen.conformance.cases.suite import select
from diopigen.conformance.compare.bounds import own_error
from diopigen.conformance.dtypes import Array
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Allocated, Answer, Expected, answer_of, oracle_of
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.model import Function

ROOT = Path(__file__).resolve().parents[2]


def digest(answer: Answer) -> str:
    """The bits of all expected values, and of the sizes that the bounds are made of."""
    found = hashlib.blake2b(digest_size=8)
    for name, value in sorted(answer.items()):
        expected = value.expected if isinstance(value, Allocated) else value
        if isinstance(expected, Expected):
            for array in (expected.values, expected.scale):
                # As text, since long double is padded with bytes that mean nothing.
                found.update(name.encode() + repr(np.asarray(0 if array is None else array).tolist()).encode())
    return found.hexdigest()


def answers(globs: Sequence[str]) -> Iterator[tuple[str, Function, Answer]]:
    """The id, the function and the expected outputs of every case of the functions that are named."""
    interface = load_interface(ROOT / "specs", Sink(), "specs").interface
    for case in select(interface, ops=globs):
        function = interface.function(case.function)
        if function is not None and oracle_of(function) is not None and case.expect == SUCCESS:
            with np.errstate(all="ignore"):
                yield case.id, function, answer_of(call_of(interface, case))


def values(function: Function, answer: Answer) -> Iterator[tuple[Array, Array]]:
    """Expected numbers with what their oracle may be off by."""
    for _, value in sorted(answer.items()):
        expected = value.expected if isinstance(value, Allocated) else value
        if isinstance(expected, Expected) and np.asarray(expected.values).dtype.kind in "fc":
            with np.errstate(all="ignore"):
                yield np.asarray(expected.values), own_error(expected, function.tolerance)


if __name__ == "__main__":
    if sys.argv[1] == "--values":
        found = [(name, list(values(function, answer))) for name, function, answer in answers(sys.argv[3:])]
        Path(sys.argv[2]).write_bytes(pickle.dumps(found))
    else:
        for name, _, answer in answers(sys.argv[1:]):
            print(digest(answer), name)
