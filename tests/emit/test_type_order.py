"""Structs and typedefs in the order that C needs."""

from __future__ import annotations

from diopigen.diagnostics import Span
from diopigen.emit.c.type_order import in_order
from diopigen.ir.c_types import HandleType, StructField, StructType

HERE = Span("types.yaml")


def struct(name: str, *types: str) -> StructType:
    fields = tuple(StructField(f"m{index}", c_type, 8 * index, "A member.") for index, c_type in enumerate(types))
    return StructType(name, "A struct.", 8, 8, fields, HERE)


def handle(name: str, c_type: str) -> HandleType:
    return HandleType(name, "A handle.", c_type, HERE)


def ordered(structs: list[StructType], handles: list[HandleType]) -> tuple[list[str], list[str]]:
    order, forward = in_order(structs, handles)
    return [one.name for one in order], forward


def test_handles_follow_the_structs_that_do_not_need_them() -> None:
    assert ordered([struct("B"), struct("A")], [handle("y", "int"), handle("x", "B")]) == (["B", "A", "y", "x"], [])


def test_what_a_member_names_comes_first_however_deep() -> None:
    structs = [struct("Outer", "int", "Inner[2]"), struct("Inner", "call_t")]
    handles = [
        handle("number_t", "int"),
        handle("call_t", "void (*)(number_t, const Other *)"),
        handle("Other", "struct Other"),
    ]
    assert ordered(structs, handles) == (["number_t", "Other", "call_t", "Inner", "Outer"], [])


def test_a_struct_that_is_named_before_its_end_is_declared_before() -> None:
    assert ordered([struct("Node", "Node *")], []) == (["Node"], ["Node"])
    around = [struct("A", "b_t"), struct("B", "A *")], [handle("b_t", "B *")]
    assert ordered(*around) == (["B", "b_t", "A"], ["A"])


def test_a_long_chain_of_types_ends() -> None:
    chain = [handle(f"t{index}", f"t{index + 1}") for index in range(5000)]
    assert ordered([], [*chain, handle("t5000", "int")])[0][0] == "t5000"
