"""Prints a digest of the expected values and the id of every case of the functions that its arguments name."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
from calls import call_of

from diopigen.conformance.cases import select
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Allocated, Answer, Expected, oracles
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface

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


if __name__ == "__main__":
    interface = load_interface(ROOT / "specs", Sink(), "specs").interface
    for case in select(interface, ops=sys.argv[1:]):
        function = interface.function(case.function)
        if function is not None and case.expect == SUCCESS:
            with np.errstate(all="ignore"):
                print(digest(oracles()[function.operator](call_of(interface, case))), case.id)
