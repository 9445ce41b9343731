"""Variants: which functions follow from an entry, and what each of them keeps, changes and drops."""

from __future__ import annotations

from ir_helpers import functions_of

from diopigen.diagnostics import Sink, Span
from diopigen.ir.model import DtypeList, Function
from diopigen.spec.expression import to_text

HEAD = """
name: Add
doc: A sum.
params:
  - {name: out, type: tensor, direction: out, dtype: same(input), shape: 'broadcast(input, other)', doc: Sum.}
  - {name: input, type: tensor, direction: in, dtype: number, shape: any, doc: First.}
  - {name: other, type: tensor, direction: in, dtype: [number, bool], nullable: true, mutable: true, shape: [], doc: B.}
  - {name: alpha, type: scalar, dtype: number, default: 1, doc: Factor.}
kernel: input + alpha * other
tolerance: rounding
since: '1.2'
aten: [add.out]
cases: [{input: [2], other: [2]}]
constraints:
  - {id: C1, note: alpha is finite, error: diopiErrorOccurred, untestable: impossible}
"""


def signature(function: Function) -> str:
    return f"{function.name}({', '.join(f'{p.direction} {p.type} {p.name}' for p in function.params)})"


def results(function: Function) -> dict[str, str]:
    assert function.kernel is not None
    return {name: to_text(formula.expression) for name, formula in function.kernel.results}


def test_an_entry_without_variants_is_one_function() -> None:
    (base,) = functions_of(HEAD)
    assert signature(base) == "diopiAdd(out tensor out, in tensor input, in tensor other, in scalar alpha)"
    assert (base.operator, base.variant, base.family, base.header) == ("Add", "base", "family", "functions.h")
    assert results(base) == {"out": "input + alpha * other"}


def test_the_three_kinds_by_their_short_names() -> None:
    found = functions_of(HEAD + "variants: [inplace, scalar, inplace_scalar]\n")
    assert [signature(function) for function in found] == [
        "diopiAdd(out tensor out, in tensor input, in tensor other, in scalar alpha)",
        "diopiAddInp(inout tensor input, in tensor other, in scalar alpha)",
        "diopiAddScalar(out tensor out, in tensor input, in scalar other, in scalar alpha)",
        "diopiAddInpScalar(inout tensor input, in scalar other, in scalar alpha)",
    ]
    assert [function.variant for function in found] == ["base", "inplace", "scalar", "inplace_scalar"]
    assert {function.operator for function in found} == {"Add"}
    assert [results(function) for function in found] == [
        {"out": "input + alpha * other"},
        {"input": "input + alpha * other"},
        {"out": "input + alpha * other"},
        {"input": "input + alpha * other"},
    ]


def test_a_variant_keeps_what_it_does_not_say_but_for_the_overloads() -> None:
    base, variant = functions_of(HEAD + "variants: [inplace]\n")
    for key in ("doc", "constraints", "tolerance", "since", "weak", "returns", "context", "source", "backward_of"):
        assert getattr(variant, key) == getattr(base, key), key
    assert variant.since == "1.2"
    assert [dict(case.arguments) for case in variant.cases] == [dict(case.arguments) for case in base.cases]
    assert [overload.name for overload in base.aten] == ["add.out"]
    assert variant.aten == ()


def test_what_a_variant_says_replaces_what_the_base_says() -> None:
    _, variant = functions_of(
        HEAD
        + """
variants:
  - kind: inplace
    name: Accumulate
    doc: A sum in place.
    aten: [add_.Tensor]
    kernel: input - other
    constraints: []
    cases: [{input: [3], other: [3]}]
    deprecated: use diopiAdd
"""
    )
    assert variant.name == "diopiAccumulate"
    assert variant.doc == "A sum in place."
    assert [overload.name for overload in variant.aten] == ["add_.Tensor"]
    assert results(variant) == {"input": "input - other"}
    assert variant.constraints == ()
    assert variant.deprecated == "use diopiAdd"
    assert len(variant.cases) == 1
    assert variant.span == Span("op.yaml", 19, 11, 19, 21)


def test_a_scalar_loses_what_only_tensors_have() -> None:
    _, variant = functions_of(HEAD + "variants: [scalar]\n")
    other = variant.param("other")
    assert other is not None
    assert (other.type, other.direction, other.shape, other.nullable, other.mutable) == (
        "scalar",
        "in",
        None,
        False,
        False,
    )
    assert isinstance(other.dtype, DtypeList)
    assert other.dtype.names == ("number", "bool")


def test_several_operands_and_another_one_than_other() -> None:
    _, first, second = functions_of(
        HEAD
        + "variants:\n  - {kind: scalar, operands: [input], name: A}\n  - {kind: scalar, operands: [input, other]}\n"
    )
    assert signature(first) == "diopiA(out tensor out, in scalar input, in tensor other, in scalar alpha)"
    assert signature(second) == "diopiAddScalar(out tensor out, in scalar input, in scalar other, in scalar alpha)"


def test_overrides_replace_single_keys_and_come_last() -> None:
    _, variant = functions_of(
        HEAD
        + "variants:\n"
        + "  - kind: scalar\n"
        + "    params: {alpha: {default: 2.5}, other: {type: double, doc: A number.}, out: {direction: inout}}\n"
    )
    alpha, other, out = (variant.param(name) for name in ("alpha", "other", "out"))
    assert alpha is not None and other is not None and out is not None
    assert alpha.default is not None
    assert (alpha.default.value, alpha.doc) == (2.5, "Factor.")
    assert (other.type, other.doc) == ("double", "A number.")
    assert (out.direction, out.doc) == ("inout", "Sum.")


SPLIT = """
name: Split
doc: Two results.
params:
  - {name: high, type: tensor, direction: out, dtype: number, shape: same(value), doc: One.}
  - {name: low, type: tensor, direction: out, dtype: number, shape: same(value), doc: Two.}
  - {name: value, type: tensor, direction: in, dtype: number, shape: any, doc: The operand.}
kernel: {let: {half: value / 2}, high: half, low: value - half}
variants: [{kind: inplace, target: value}]
"""


def test_a_kernel_of_several_outputs_is_written_to_the_target_in_place_of_the_first() -> None:
    base, variant = functions_of(SPLIT)
    assert results(base) == {"high": "half", "low": "value - half"}
    assert signature(variant) == "diopiSplitInp(out tensor low, inout tensor value)"
    assert results(variant) == {"value": "half", "low": "value - half"}
    assert variant.kernel is not None
    assert [name for name, _ in variant.kernel.lets] == ["half"]


def test_a_partial_output_can_be_in_place_too() -> None:
    text = SPLIT.replace("name: high, type: tensor, direction: out", "name: high, type: tensor, direction: partial_out")
    assert signature(functions_of(text)[1]) == "diopiSplitInp(out tensor low, inout tensor value)"


def test_what_does_not_match_is_left_out_and_the_rest_stays() -> None:
    sink = Sink()
    found = functions_of(
        HEAD
        + "variants:\n  - {kind: inplace, target: inptu}\n  - scalar\n  - {kind: scalar, operands: [alhpa], name: X}\n",
        sink,
    )
    assert [function.name for function in found] == ["diopiAdd", "diopiAddScalar"]
    assert [f"{f.span} {f.code}: {f.message} ({f.fix})" for f in sink.sorted()] == [
        "op.yaml:17:29 variant-mismatch: Add has no parameter 'inptu' (target of inplace) (did you mean 'input'?)",
        "op.yaml:19:31 variant-mismatch: Add has no parameter 'alhpa' (operand of scalar) (did you mean 'alpha'?)",
    ]


def test_positions_stay_those_of_the_base() -> None:
    base, variant = functions_of(HEAD + "variants: [scalar]\n")
    for name in ("out", "input", "other", "alpha"):
        ours, theirs = variant.param(name), base.param(name)
        assert ours is not None and theirs is not None
        assert ours.span == theirs.span
        assert ours.at("doc") == theirs.at("doc")
    other = variant.param("other")
    assert other is not None
    assert other.at("type") == Span("op.yaml", 16, 12, 16, 18)  # what made it a scalar: the variant's entry
