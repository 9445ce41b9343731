"""ATen schemas: what each part of the text becomes, and that every schema of the snapshot can be read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from diopigen.ir.aten import AtenArgument, AtenSchema, parse_schema

SNAPSHOT = Path(__file__).parents[2] / "specs" / "aten" / "torch.yaml"


def argument(
    name: str,
    type_: str,
    *,
    optional: bool = False,
    is_list: bool = False,
    written: bool = False,
    keyword_only: bool = False,
    optional_items: bool = False,
    length: int | None = None,
) -> AtenArgument:
    return AtenArgument(name, type_, optional, is_list, written, keyword_only, optional_items, length)


SELF = argument("self", "Tensor")
RESULT = argument("", "Tensor")
WRITTEN = argument("", "Tensor", written=True)

READ = {
    "relu(Tensor self) -> Tensor": AtenSchema("relu", (SELF,), (RESULT,)),
    "relu_(Tensor(a!) self) -> Tensor(a!)": AtenSchema(
        "relu_", (argument("self", "Tensor", written=True),), (WRITTEN,)
    ),
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)": AtenSchema(
        "view", (SELF, argument("size", "SymInt", is_list=True)), (RESULT,)
    ),
    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)": AtenSchema(
        "add.out",
        (
            SELF,
            argument("other", "Tensor"),
            argument("alpha", "Scalar", keyword_only=True),
            argument("out", "Tensor", written=True, keyword_only=True),
        ),
        (WRITTEN,),
    ),
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor": AtenSchema(
        "sum.dim_IntList",
        (
            SELF,
            argument("dim", "int", optional=True, is_list=True, length=1),
            argument("keepdim", "bool"),
            argument("dtype", "ScalarType", optional=True, keyword_only=True),
        ),
        (RESULT,),
    ),
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor": AtenSchema(
        "index.Tensor", (SELF, argument("indices", "Tensor", is_list=True, optional_items=True)), (RESULT,)
    ),
    "max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)": AtenSchema(
        "max.dim", (SELF, argument("dim", "int")), (argument("values", "Tensor"), argument("indices", "Tensor"))
    ),
    "odd(Tensor self, str a=\"x, (y\", int[2] b=[0, 1], str c='-> ') -> ()": AtenSchema(
        "odd", (SELF, argument("a", "str"), argument("b", "int", is_list=True, length=2), argument("c", "str")), ()
    ),
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]": AtenSchema(
        "unbind.int", (SELF, argument("dim", "int")), (argument("", "Tensor", is_list=True),)
    ),
    "none() -> int": AtenSchema("none", (), (argument("", "int"),)),
}


@pytest.mark.parametrize("text", READ, ids=lambda text: text.partition("(")[0])
def test_a_schema_has_these_parts(text: str) -> None:
    assert parse_schema(text) == READ[text]


@pytest.mark.parametrize(
    "text", ["", "relu", "relu(Tensor self)", "relu -> Tensor", "relu(Tensor self -> Tensor", "relu(1 self) -> Tensor"]
)
def test_what_is_no_schema_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_schema(text)


@pytest.mark.parametrize(
    ("text", "inplace", "out"),
    [
        ("relu(Tensor self) -> Tensor", False, False),
        ("relu_(Tensor(a!) self) -> Tensor(a!)", True, False),
        ("relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", False, True),
        ("set_(Tensor(a!) self, Tensor(b!) other) -> ()", True, False),
        ("view(Tensor(a) self) -> Tensor(a)", False, False),
    ],
)
def test_what_a_schema_writes(text: str, inplace: bool, out: bool) -> None:
    schema = parse_schema(text)
    assert (schema.is_inplace, schema.is_out) == (inplace, out)


@pytest.fixture(scope="module")
def snapshot() -> list[str]:
    found: list[str] = yaml.load(SNAPSHOT.read_text(), yaml.CSafeLoader)["schemas"]
    return found


def test_every_schema_of_the_snapshot_is_read(snapshot: list[str]) -> None:
    assert len(snapshot) > 3000
    for text in snapshot:
        schema = parse_schema(text)
        assert schema.name == text[: text.index("(")]
        # Counted in the text alone: an alias set that ends in ! marks what is written, once for each place.
        marks = text.count("!)") + text.count("! -> ")
        written = sum(part.written for part in (*schema.arguments, *schema.returns))
        assert written == marks, text
        assert all(part.name for part in schema.arguments), text


def test_every_overload_of_the_snapshot_is_there_once(snapshot: list[str]) -> None:
    assert [name for name, count in Counter(text.partition("(")[0] for text in snapshot).items() if count > 1] == []
