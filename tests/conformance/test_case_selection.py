"""Cases: stable ids, every dtype reached, the axes of elementwise operators, refusals, selection."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases.choices import primary_dtypes
from diopigen.conformance.cases.suite import AXES, cases_of, find, narrowed, select
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.cases.values import RecipeError, draw, seed_of, specials
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import ANY_FAILURE, SUCCESS, Case, Number, Operand
from diopigen.conformance.oracles import Expected, answer_of
from diopigen.conformance.rules import RULES
from diopigen.conformance.run import host_runtime, tvm_ffi_library
from diopigen.diagnostics import Failure
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn
from diopigen.output.rules import OUTPUT_RULES


@pytest.fixture(scope="module")
def cases(interface: Interface, derived: Callable[[Function], Sequence[Case]]) -> list[Case]:
    return select(interface, derived=derived)


def of(interface: Interface, name: str) -> dict[str, Case]:
    function = interface.function(name)
    assert function is not None
    return {case.id: case for case in cases_of(interface, function)}


def test_ids_are_unique_readable_and_found_again(interface: Interface, cases: list[Case]) -> None:
    ids = [case.id for case in cases]
    assert len(ids) == len(set(ids)) > 10000
    assert [name for name in ids if not re.fullmatch(r"diopi\w+/[\w.-]+/[\w.-]+", name)] == []
    assert {case.axis for case in cases} <= set(AXES)
    for case in cases[:: len(cases) // 7]:
        assert find(interface, case.id) == case


def test_the_seed_follows_from_the_id_in_every_process() -> None:
    code = "from diopigen.conformance.cases.values import seed_of; print(seed_of('diopiAdd/float32/plain', 0))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == seed_of("diopiAdd/float32/plain", 0)
    assert seed_of("diopiAdd/float32/plain", 0) != seed_of("diopiAdd/float32/plain", 1)


def test_elementwise_functions_reach_every_dtype_with_a_result(interface: Interface, cases: list[Case]) -> None:
    reached: dict[str, set[str]] = {}
    for case in cases:
        if case.expect == SUCCESS:
            reached.setdefault(case.function, set()).add(case.dtype)
    holes = {
        f.name: set(primary_dtypes(f)) - reached.get(f.name, set())
        for f in functions_of(interface)
        if f.kernel is not None and set(primary_dtypes(f)) - reached.get(f.name, set())
    }
    assert holes == {}


def test_the_axes_of_add(interface: Interface) -> None:
    found = of(interface, "diopiAdd")
    axes = {case.axis for case in found.values()}
    assert axes == {
        "recipe", "plain", "empty", "0d", "size-1", "broadcast", "non-contiguous", "expanded", "channels-last",
        "aliased", "special", "mixed", "cast", "error", "large",
    }  # fmt: skip
    plain = found["diopiAdd/bfloat16/plain"].arguments
    assert plain["out"] == Operand((4, 5), "bfloat16", Drawn("zeros"))
    assert plain["alpha"] == Number(1, "int64")
    cast = found["diopiAdd/uint8/cast-float32"].arguments
    assert [getattr(cast[name], "dtype", "") for name in ("out", "input", "other")] == ["float32", "uint8", "uint8"]
    aliased = next(case for case in found.values() if case.axis == "aliased").arguments["out"]
    assert isinstance(aliased, Operand) and aliased.alias == "input"


def test_constraints_and_rules_become_refusals(interface: Interface) -> None:
    found = {name: case for name, case in of(interface, "diopiAdd").items() if case.axis == "error"}
    assert {name.split("/")[1]: case.expect for name, case in found.items()} == {
        "C1": "diopiErrorOccurred",
        "null-out": ANY_FAILURE,
        "null-input": ANY_FAILURE,
        "null-other": ANY_FAILURE,
        "null-alpha": ANY_FAILURE,
        "dtype-input": ANY_FAILURE,
        "dtype-other": ANY_FAILURE,
        "shape-out": ANY_FAILURE,
        "wide-out": ANY_FAILURE,
        "dtype-out": ANY_FAILURE,
        "no-broadcast": ANY_FAILURE,
        "device-out": ANY_FAILURE,
        "device-input": ANY_FAILURE,
        "device-other": ANY_FAILURE,
        "overlap-out-input": ANY_FAILURE,
        "overlap-end-out-input": ANY_FAILURE,
        "overlap-out-other": ANY_FAILURE,
    }
    assert found["diopiAdd/C1/error"].about.startswith("C1: alpha is integral when")
    assert found["diopiAdd/null-input/error"].arguments["input"] is None
    assert found["diopiAdd/null-input/error"].blames == "input"
    elsewhere = found["diopiAdd/device-other/error"].arguments
    assert [name for name, value in elsewhere.items() if isinstance(value, Operand) and value.on_host] == ["other"]
    shared = found["diopiAdd/overlap-out-other/error"].arguments["other"]
    assert isinstance(shared, Operand) and (shared.alias, shared.shift) == ("out", 1)
    div = of(interface, "diopiDiv")["diopiDiv/enum-rounding_mode/error"]
    assert div.arguments["rounding_mode"] == "RoundModeEND"


def test_a_variant_adapts_the_recipes_of_its_base(interface: Interface) -> None:
    scalar = of(interface, "diopiRemainderScalar")
    assert isinstance(scalar["diopiRemainderScalar/float32/plain"].arguments["other"], Number)
    inplace = of(interface, "diopiPowInpTensor")
    recipe = inplace["diopiPowInpTensor/float32/recipe-1"].arguments
    assert "out" not in recipe and isinstance(recipe["input"], Operand)


def test_a_recipe_is_left_out_where_the_dtype_would_break_a_constraint(interface: Interface) -> None:
    found = of(interface, "diopiAddInpScalar")  # its first recipe adds 0.5
    assert "diopiAddInpScalar/float32/recipe-1" in found
    assert "diopiAddInpScalar/int32/recipe-1" not in found
    assert "diopiAddInpScalar/int32/plain" in found


def test_selection(interface: Interface) -> None:
    some = select(interface, ops=["Add*"], dtypes=["int8"], axes=["plain"])
    assert [case.id for case in some] == [
        f"diopi{name}/int8/plain" for name in ("Add", "AddInp", "AddScalar", "AddInpScalar", "Addcmul", "AddcmulInp")
    ]
    assert {case.family for case in select(interface, families=["sorting"])} == {"sorting"}
    rejected: tuple[tuple[dict[str, Any], str, str], ...] = (
        ({"ops": ["Addd"]}, "there is no function 'Addd'", "did you mean 'Add'?"),
        ({"dtypes": ["float33"]}, "there is no dtype 'float33'", "did you mean 'float32'?"),
        ({"axes": ["brodcast"]}, "there is no axis 'brodcast'", "did you mean 'broadcast'?"),
        ({"families": ["sortin"]}, "there is no family 'sortin'", "did you mean 'sorting'?"),
    )
    for options, message, fix in rejected:
        with pytest.raises(Failure) as error:
            select(interface, **options)
        found = error.value.diagnostics[0]
        assert (found.message, found.fix) == (message, fix)
    with pytest.raises(Failure) as error:
        find(interface, "diopiAdd/float32/plian")
    assert error.value.diagnostics[0].fix == "did you mean 'diopiAdd/float32/plain'?"


def test_the_cases_of_a_function_follow_from_its_operator_alone(interface: Interface) -> None:
    for function in functions_of(interface)[::23]:
        few = narrowed(interface, [function.name])
        assert cases_of(few, function) == cases_of(interface, function), function.name


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_values_are_drawn_in_every_dtype(dtype: str) -> None:
    source = np.random.default_rng(0)
    for values in (Drawn("normal"), Drawn("zeros"), Drawn("ones"), Drawn("integers", (0, 2)), Drawn("nonzero")):
        assert draw(values, (3, 4), dtype, source).shape == (3, 4)
    assert set(draw(Drawn("ones"), (5,), "float16", source).tolist()) == {1.0}
    sampled = draw(Drawn("uniform", (-3, 3)), (100,), "int8", source)
    assert sampled.min() >= -3 and sampled.max() <= 3
    assert sorted(draw(Drawn("permutation"), (6,), "int32", source).tolist()) == [0, 1, 2, 3, 4, 5]


def test_values_that_a_dtype_cannot_hold_are_rejected() -> None:
    source = np.random.default_rng(0)
    for values, dtype in (((0.5,), "int32"), ((-1,), "uint8"), ((300,), "int8"), (Drawn("integers", (-3, 3)), "uint8")):
        with pytest.raises(RecipeError):
            draw(values, (1,), dtype, source)


def test_every_row_has_its_peak_at_another_index() -> None:
    source = np.random.default_rng(0)
    sampled = draw(Drawn("peaks", (1000,)), (2, 2, 10), "float32", source).reshape(4, 10)
    assert sampled.argmax(axis=1).tolist() == [0, 3, 6, 9] and (sampled == 1000).sum() == 4
    assert draw(Drawn("peaks", (7,)), (5,), "int32", source)[0] == 7
    for values, shape, dtype in (((300,), (2, 3), "int8"), ((1.5,), (2,), "int32"), ((1,), (2, 0), "float32")):
        with pytest.raises(RecipeError):
            draw(Drawn("peaks", values), shape, dtype, source)


def test_special_values_meet_in_pairs() -> None:
    source = np.random.default_rng(0)
    count = len(specials("float32"))
    first = draw(Drawn("special", (1, 0)), (count * count,), "float32", source)
    second = draw(Drawn("special", (count, 0)), (count * count,), "float32", source)
    pairs = {(a, b) for a, b in zip(first.view(np.uint32).tolist(), second.view(np.uint32).tolist(), strict=True)}
    assert len(pairs) == count * count


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_all_numbers_of_a_dtype_where_a_run_asks_for_them(interface: Interface, dtype: str) -> None:
    case = find(interface, f"diopiTanh/{dtype}/exhaustive-input")
    assert case.id not in of(interface, "diopiTanh")
    assert case in select(interface, ops=["Tanh"], axes=["exhaustive"])
    call = call_of(interface, case)
    stored = encode(call["input"], dtype).view(np.uint16)
    assert len(np.unique(stored[~np.isnan(call["input"])])) == 2**16 - np.count_nonzero(np.isnan(call["input"]))
    # One wrong number among right ones.
    expected = answer_of(call)["out"]
    assert isinstance(expected, Expected)
    result = encode(expected.values, dtype)
    assert compare(result, dtype, expected, "transcendental", "out") is None
    result.view(np.uint16)[0x3D, 0xCC] += 5
    assert compare(result, dtype, expected, "transcendental", "out") is not None


def test_every_finding_of_the_suite_has_a_rule() -> None:
    folder = Path(__file__).parents[2] / "diopigen/conformance"
    text = "".join(path.read_text() for path in sorted(folder.rglob("*.py")) if path.name != "rules.py")
    used = set(re.findall(r'(?:failure|error|warning|note|found|missing)\(\s*"([a-z]+-[a-z-]+)"', text))
    used |= set(re.findall(r'"code": "([a-z-]+)"', text))  # told by a worker process
    used |= set(re.findall(r'^_CODE = "([a-z-]+)"', text, re.MULTILINE))
    used |= set(re.findall(r'\bcode="([a-z-]+)"', text))
    used |= {f"unknown-case-{what}" for what in re.findall(r'_known\("(\w+)"', text)}
    # Files of results are written like others, and fail by the rules of those.
    assert used - set(OUTPUT_RULES) == {*RULES, *host_runtime.RULES, *tvm_ffi_library.RULES}
