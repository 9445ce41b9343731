"""Keys of parameters become constraints: id, predicate, note, place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ir_helpers import MINIATURE

from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.model import Constraint, Function
from diopigen.spec.expression import to_text

HEAD = """family: probe
header: functions.h
operators:
  - name: Probe
    doc: A probe.
    params:
      - {name: out, type: tensor, direction: out, dtype: same(input), shape: same(input), doc: The result.}
      - {name: input, type: tensor, direction: in, dtype: number, shape: any, doc: The operand.}
      - {name: other, type: tensors, direction: in, count: 2, dtype: number, doc: More operands.}
      - {name: shape, type: sizes, doc: A shape.}
"""


def probe(tmp_path: Path, param: str, rest: str = "") -> Function:
    shutil.copytree(MINIATURE, tmp_path / "spec")
    (tmp_path / "spec/ops/probe.yaml").write_text(f"{HEAD}      - {param}\n{rest}")
    sink = Sink()
    function = load_interface(tmp_path / "spec", sink).interface.function("diopiProbe")
    assert sink.sorted() == [] and function is not None
    return function


def only(function: Function) -> Constraint:
    (constraint,) = function.constraints
    return constraint


@pytest.mark.parametrize(
    ("param", "predicate", "note"),
    [
        ("type: int64, dim_of: input", "-max(rank(input), 1) <= x and x < max(rank(input), 1)",
         "x is in [-rank(input), rank(input) - 1], a 0-d input counting as 1-d"),
        ("type: int64, nullable: true, dim_of: input", "-max(rank(input), 1) <= x and x < max(rank(input), 1)",
         "x, where given, is in [-rank(input), rank(input) - 1], a 0-d input counting as 1-d"),
        ("type: sizes, dim_of: input", "all(-max(rank(input), 1) <= x and x < max(rank(input), 1))",
         "every entry of x is in [-rank(input), rank(input) - 1], a 0-d input counting as 1-d"),
        ("type: int64, dim_of: shape", "-max(len(shape), 1) <= x and x < max(len(shape), 1)",
         "x is in [-len(shape), len(shape) - 1], empty sizes counting as one"),
        ("type: int64, dim_of: other", "-max(ranks(other), 1) <= x and x < max(ranks(other), 1)",
         "x is in [-rank, rank - 1] of other"),
        ("type: double, range: '[0, 1)'", "0 <= x and x < 1", "x is at least 0 and below 1"),
        ("type: int64, range: '[1, inf)'", "x >= 1", "x is at least 1"),
        ("type: int64, range: '(-inf, 5)'", "x < 5", "x is below 5"),
        ("type: double, range: '[0, inf]'", "x >= 0", "x is at least 0"),
        ("type: double, range: '(-inf, inf)'", "-inf < x and x < inf", "x is above -inf and below inf"),
        ("type: scalar, dtype: number, range: '(0, inf]'", "x > 0", "x is above 0"),
        ("type: sizes, range: '[0, len(shape)]'", "all(0 <= x and x <= len(shape))",
         "every entry of x is at least 0 and at most len(shape)"),
        ("type: sizes, length: 2", "len(x) == 2", "x has 2 entries"),
        ("type: sizes, length: 1", "len(x) == 1", "x has 1 entry"),
        ("type: sizes, length: [0, 1, 2]", "one_of(len(x), 0, 1, 2)", "x has 0, 1 or 2 entries"),
        ("type: sizes, length: '[1, inf)'", "len(x) >= 1", "x has at least 1 entry"),
        ("type: sizes, length: rank(input) - 2", "len(x) == rank(input) - 2", "x has rank(input) - 2 entries"),
        ("type: tensor, direction: in, dtype: number, shape: any, rank: [3, 4]", "one_of(rank(x), 3, 4)",
         "x has 3 or 4 dimensions"),
        ("type: tensor, direction: in, dtype: number, shape: any, rank: '[0, 1]'", "rank(x) <= 1",
         "x has at most 1 dimension"),
        ("type: tensors, direction: in, count: 2, dtype: number, rank: '[2, 3]'",
         "all(2 <= ranks(x) and ranks(x) <= 3)", "each of x has at least 2 and at most 3 dimensions"),
    ],
)  # fmt: skip
def test_what_a_key_says(tmp_path: Path, param: str, predicate: str, note: str) -> None:
    found = only(probe(tmp_path, f"{{name: x, {param}, doc: A thing.}}"))
    assert found.require is not None and found.key is not None
    assert (found.id, to_text(found.require.expression), found.note) == (f"x.{found.key.name}", predicate, note)
    assert (found.error, found.checked, found.case) == ("diopiErrorOccurred", "call", None)
    assert found.span.line == 11


def test_keys_come_before_what_is_written_in_the_order_of_parameters(tmp_path: Path) -> None:
    rest = "    constraints:\n      - {id: C3, require: x < 7, error: diopiErrorOccurred, untestable: impossible}\n"
    param = "{name: axes, type: sizes, dim_of: input, range: '[-3, 3)', length: 2, doc: Axes.}\n"
    found = probe(tmp_path, f"{param}      - {{name: x, type: int, range: '[1, inf)', doc: A thing.}}", rest)
    assert [c.id for c in found.constraints] == ["axes.length", "axes.range", "axes.dim_of", "x.range", "C3"]


def test_a_variant_has_the_keys_of_its_base_but_those_that_a_scalar_lacks(tmp_path: Path) -> None:
    shared = "{name: x, type: tensor, direction: in, dtype: number, shape: any, rank: 2, domain: nonzero, doc: One.}"
    rest = "      - {name: p, type: double, range: '[0, 1]', doc: A chance.}\n"
    rest += "    variants: [{kind: scalar, operands: [x]}]\n"
    probe(tmp_path, shared, rest)
    scalar = load_interface(tmp_path / "spec", Sink()).interface.function("diopiProbeScalar")
    assert scalar is not None
    assert [c.id for c in scalar.constraints] == ["p.range"]
    x = scalar.param("x")
    assert x is not None and x.domain is None
