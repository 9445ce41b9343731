"""Every operator of the interface that has tensors: its shim does what the operator does without one.

A mock vendor takes every operator. It records what it receives and writes numbers that depend on all that it reads, so
that a shim which drops, mixes up or delays a tensor gives another result than the direct call of the same operator on
copies of the same tensors, in the original dtype and layout.
"""

from __future__ import annotations

import ctypes
import random

import pytest
from adaptor_helpers import NO_IMPLEMENT, SUCCESS, Library, built_shims
from drawn_arguments import Arguments, dense, draw_arguments
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mock_vendor import BUILT_IN, mocked
from shim_builds import COMPLEX, random_rules

from diopigen.config.model import FunctionRule, TensorRule
from diopigen.ir.model import DtypeList, Function, Interface

# Two sets of rules, and the second once more over a host that does not describe tensors in one call.
HOSTS = (("drawn_1", 1), ("drawn_2", 2), ("drawn_2_asked", 2))
# What shims convert with, and what is about formats that only the vendor knows: their tensors stay as they are.
SKIPPED = BUILT_IN | {"diopiNativeMemoryFormatCast", "diopiGetNativeMemoryFormat"}


@pytest.fixture(scope="module", params=HOSTS, ids=[name for name, _ in HOSTS])
def loaded(request: pytest.FixtureRequest, interface: Interface) -> tuple[Library, dict[str, FunctionRule]]:
    name, seed = request.param
    return built_shims(name), random_rules(interface, seed)


# ---- What a rule means, said a second time and in other words ------------------------------------------------------


def is_in(size: tuple[int, ...], stride: tuple[int, ...], order: list[int]) -> bool:
    expected = dense(size, order)
    return 0 in size or all(
        length == 1 or each == requested for length, each, requested in zip(size, stride, expected, strict=True)
    )


CHANNELS_LAST = {"NLC": 3, "NHWC": 4, "NDHWC": 5}
CHANNELS_FIRST = {"NCL": 3, "NCHW": 4, "NCDHW": 5}


def allowed(rule: TensorRule, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Returns whether strides are as a rule wants them."""
    rank = len(size)
    for layouts in (rule.layouts, rule.common_layouts):
        if "ND" in layouts:
            break
        named = [name for name in layouts if {**CHANNELS_LAST, **CHANNELS_FIRST}[name] == rank]
        if named:
            first, last = list(range(rank)), [0, *range(2, rank), 1]
            return any(is_in(size, stride, last if name in CHANNELS_LAST else first) for name in named)
        if any(name in CHANNELS_FIRST for name in layouts):
            return is_in(size, stride, list(range(rank)))
    return not rule.contiguous or is_in(size, stride, list(range(rank)))


# ---- The promises ---------------------------------------------------------------------------------------------------


def created_values(
    library: Library, arguments: Arguments
) -> dict[str, list[tuple[str, tuple[int, ...], list[complex]]]]:
    """Dtype, shape and values of what the operator made, which is released."""
    found: dict[str, list[tuple[str, tuple[int, ...], list[complex]]]] = {}
    for name, slot in arguments.slots.items():
        found[name] = []
        for handle in slot:
            dtype, size = library.describe(handle)
            found[name].append((dtype, size, library.read(handle, size[0] * size[1])))
            library.release(handle)
    return found


def definite(function: Function, name: str) -> bool:
    """Returns whether the interface defines one dtype for what the operator makes."""
    param = function.param(name)
    assert param is not None
    return not isinstance(param.dtype, DtypeList) or len(param.dtype.dtypes) == 1


def check_received(library: Library, function: Function, rule: FunctionRule) -> None:
    rules = {tensor.param: tensor for tensor in rule.tensors}
    for record in library.records():
        tensor = rules[record.name]
        assert record.dtype not in {cast.source for cast in tensor.casts}, (function.name, record)
        assert allowed(tensor, record.size, record.stride), (function.name, record, tensor)


def test_shim_gives_what_the_operator_gives(
    loaded: tuple[Library, dict[str, FunctionRule]], interface: Interface
) -> None:
    # Inside, so that a failure is not reported with the whole interface as an argument.
    @given(seed=st.integers(0, 2**32))
    @example(seed=917351)  # would draw a tensor twice for one list that is written
    @settings(max_examples=4, deadline=None, database=None)
    def holds(seed: int) -> None:
        compare_all(loaded, interface, seed)

    holds()


def compare_all(loaded: tuple[Library, dict[str, FunctionRule]], interface: Interface, seed: int) -> None:
    """Every operator once, with arguments that follow from the seed."""
    library, rules = loaded
    for function in mocked(interface):
        if function.name in SKIPPED:
            continue
        pick = random.Random(f"{seed} {function.name}")
        alive = library.temporaries()
        library.vendor.mock_reset()
        arguments = draw_arguments(pick, library, function)
        before = {tensor: library.memory(tensor) for tensor in arguments.all()}
        assert library.call(function, arguments.values(function), direct=True) == SUCCESS
        expected = {tensor: library.values(tensor) for tensor in before}
        expected_memory = {tensor: library.memory(tensor) for tensor in before}
        expected_created = created_values(library, arguments)
        for tensor, memory in before.items():
            library.restore(tensor, memory)

        status = library.call(function, arguments.values(function))
        assert status == SUCCESS, (function.name, library.last_error())
        check_received(library, function, rules[function.name])
        for tensor, values in expected.items():
            assert library.values(tensor) == values, (function.name, tensor, rules[function.name])
        # Nothing around the elements has changed either, and what is not written is as it was.
        for tensor, memory in expected_memory.items():
            assert len(library.memory(tensor)) == len(memory)
            if tensor.dtype not in ("bool", *COMPLEX):
                assert library.memory(tensor) == memory, (function.name, tensor)
        for name, results in created_values(library, arguments).items():
            for (dtype, size, got), (requested, shape, numbers) in zip(results, expected_created[name], strict=True):
                assert (size, [each.real for each in got]) == (shape, [each.real for each in numbers])
                assert dtype == requested or not definite(function, name), (function.name, name)
        assert library.temporaries() == alive, function.name
        for tensor in before:
            library.destroy(tensor)


def test_failure_of_any_call_leaves_everything_as_it_was(
    loaded: tuple[Library, dict[str, FunctionRule]], interface: Interface
) -> None:
    library, _ = loaded
    failures = 0
    for function in mocked(interface):
        if function.name in SKIPPED:
            continue
        pick = random.Random(f"failure {function.name}")
        library.vendor.mock_reset()
        arguments = draw_arguments(pick, library, function)
        before = {tensor: library.memory(tensor) for tensor in arguments.all()}
        call = 0
        while True:
            call += 1
            library.vendor.mock_reset()
            alive = library.temporaries()  # one more for each release that failed
            library.vendor.mock_fail_at(ctypes.c_int64(call))
            status = library.call(function, arguments.values(function))
            failed = library.vendor.mock_failed().decode()
            library.vendor.mock_fail_at(ctypes.c_int64(0))
            if status == SUCCESS:
                created_values(library, arguments)
            elif failed == "diopiHostReleaseTemporary":
                # The one failure that can come when the results have been handed over already.
                pass
            else:
                text = library.last_error()
                assert text.startswith(f"{function.name}, parameter '"), text
                assert failed in text
                named = text.split("'")[1]
                assert function.param(named) is not None, text
                # What the operator got as it is, it has written itself.
                received = {record.handle for record in library.records()}
                for tensor, memory in before.items():
                    if tensor.handle not in received:
                        assert library.memory(tensor) == memory, (function.name, failed, call, tensor)
                for slot in arguments.slots.values():
                    assert all(handle == 0x5A5A for handle in slot)
                assert library.temporaries() == alive, (function.name, failed, call)
            failures += status != SUCCESS
            for tensor, memory in before.items():
                library.restore(tensor, memory)
            if not failed:
                break
        for tensor in before:
            library.destroy(tensor)
    assert failures > 2000


def test_failing_operator_changes_nothing_that_was_converted(
    loaded: tuple[Library, dict[str, FunctionRule]], interface: Interface
) -> None:
    library, _ = loaded
    for function in mocked(interface):
        if function.name in SKIPPED:
            continue
        pick = random.Random(f"operator {function.name}")
        alive = library.temporaries()
        library.vendor.mock_reset()
        arguments = draw_arguments(pick, library, function)
        before = {tensor: library.memory(tensor) for tensor in arguments.all()}
        library.vendor.mock_operator_status(7)
        assert library.call(function, arguments.values(function)) == 7
        assert library.last_error() == "the operator fails"
        received = {record.handle for record in library.records()}
        for tensor, memory in before.items():
            if tensor.handle not in received:
                assert library.memory(tensor) == memory, (function.name, tensor)
        library.vendor.mock_operator_status(0)
        library.vendor.mock_operator_throws(True)
        for tensor, memory in before.items():
            library.restore(tensor, memory)
        assert library.call(function, arguments.values(function)) == 1
        assert library.last_error() == f"{function.name}: exception: thrown by the operator"
        for tensor, memory in before.items():
            assert library.memory(tensor) == memory
        assert library.temporaries() == alive
        for tensor in before:
            library.destroy(tensor)


def test_function_that_the_library_lacks_is_a_status(interface: Interface) -> None:
    # A vendor of another name: not one of its functions is in the library.
    functions = mocked(interface)
    library = built_shims("absent")
    for function in functions:
        assert library.call(function, {}) == NO_IMPLEMENT
        assert library.last_error() == f"{function.name}: the vendor's library has no such function"
