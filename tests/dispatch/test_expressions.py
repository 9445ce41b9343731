"""The evaluators of expressions, in Python and in C++, agree: random expressions over random arguments.

Expressions are drawn from the table of functions by the kinds of their arguments, so that a new function takes part.
"""

from __future__ import annotations

import math
import random
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle, repeat
from pathlib import Path
from typing import Any

import pytest
import small_spec
from artefacts import artefact

from diopigen.contract.arguments import Described, Scalar, Tensor, Undefined
from diopigen.contract.evaluate import Arguments, Contract
from diopigen.contract.functions import FUNCTIONS, LAZY
from diopigen.contract.kinds import Kinds
from diopigen.diagnostics import Sink
from diopigen.emit.contract.tables import KNOWN, Tables, _Contract
from diopigen.ir.load import load_interface
from diopigen.ir.model import Interface
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, to_text, walk

OPERATORS = """\
family: example
header: functions.h
operators:
  - name: Example
    doc: An operator.
    params:
      - {name: out, type: tensor, direction: out, dtype: [any], shape: any, doc: The result.}
      - {name: x, type: tensor, direction: in, dtype: [any], shape: [N, C, '*rest'], doc: An operand.}
      - {name: y, type: tensor, direction: in, dtype: [any], shape: any, nullable: true, doc: An operand.}
      - {name: z, type: tensor, direction: in, dtype: [any], shape: any, doc: An operand.}
      - {name: kernel, type: tensor, direction: in, dtype: [any], shape: any, doc: As many dimensions as x.}
      - {name: ts, type: tensors, direction: in, dtype: [any], shape: any, count: n, doc: Operands.}
      - {name: indices, type: tensors, direction: in, dtype: [any], shape: any, count: n, nullable: true, doc: Indices.}
      - {name: n, type: int64, doc: A number.}
      - {name: k, type: int64, nullable: true, doc: A number.}
      - {name: f, type: double, doc: A number.}
      - {name: s, type: scalar, dtype: [any], doc: A number.}
      - {name: p, type: bool, doc: A flag.}
      - {name: q, type: bool, nullable: true, doc: A flag.}
      - {name: dims, type: sizes, doc: A list.}
      - {name: one, type: sizes, doc: A list of one.}
      - {name: pads, type: sizes, nullable: true, doc: A list.}
      - {name: mode, type: string, doc: A word.}
"""
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip
EDGES = (2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1)
REALS = (0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -3.25, 0.1, 1e300, -1e300, math.inf, -math.inf, math.nan, 2.0**53, 2.0**63)
WORDS = ("reflect", "constant")
TABLE = (Path(__file__).resolve().parents[2] / "runtime/contract/table.h").read_text()
OPS = re.findall(r"k\w+", TABLE.partition("enum class Op")[2].partition("}")[0])
"""The operations of nodes, in the order of their numbers."""


class Drawn:
    """Random expressions of a kind, and random arguments."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.names = cycle(name for name in KNOWN if name not in ("split", *LAZY))
        self.by_result: dict[str, list[str]] = {}
        for name in KNOWN:
            self.by_result.setdefault(FUNCTIONS[name].result, []).append(name)

    # ---- expressions ------------------------------------------------------------------------------------------------

    def root(self) -> Expression:
        """An expression of any kind; of each function in turn a call over plain arguments, too."""
        if self.source.random() < 0.4:
            return self.called(next(self.names), 0)
        return self.expression(self.source.choice(("number", "integer", "list", "shape", "bool", "bools", "dtype")), 3)

    def expression(self, kind: str, depth: int) -> Expression:
        """An expression for an argument of the kind."""
        leaves = LEAVES[kind]
        if kind in ("tensor", "tensors", "indices", "elements", "array"):
            return Name(self.source.choice(leaves))
        if kind in ALIASES:
            return self.expression(self.source.choice(ALIASES[kind]), depth)
        if depth == 0 or self.source.random() < 0.15:
            is_literal = kind in ("number", "integer") and self.source.random() < 0.2
            return Number(self.integer()) if is_literal else self.leaf(self.source.choice(leaves))
        return self.source.choice((self.operation, self.call, self.call))(kind, depth - 1)

    def leaf(self, text: str) -> Expression:
        if text == "list()":
            return Call("list", ())
        return Number(float(text)) if text[0].isdigit() else Name(text)

    def integer(self) -> int:
        return abs(
            self.source.choice((self.source.randint(0, 4), self.source.randint(0, 9), self.source.choice(EDGES)))
        )

    def operation(self, kind: str, depth: int) -> Expression:
        pick = self.source.choice
        if kind in ("bool", "bools"):
            if pick((True, False)):
                join = pick(("and", "or", "not"))
                left, right = self.expression(kind, depth), self.expression(kind, depth)
                return Unary("not", left) if join == "not" else Binary(join, left, right)
            comparison = pick(("==", "!=", "<", "<=", ">", ">="))
            if kind == "bool" and pick((True, False, False)):
                return Binary(pick(("==", "!=")), *pick((self.dtypes, self.words))(depth))
            of = pick(("list", "sizes")) if kind == "bools" else pick(("number", "integer"))
            return Binary(comparison, self.expression(of, depth), self.expression(pick((of, "integer")), depth))
        if kind == "dtype":
            return self.call(kind, depth)
        of = {"shape": "sizes"}.get(kind, kind)
        other = pick((of, "integer", "number" if of in ("number", "list") else "integer"))
        operators = ("+", "-", "*", "//", "%", *(("/", "**") if of in ("number", "list") else ()))
        left, right = self.expression(of, depth), self.expression(other, depth)
        forms = Unary("-", left), Binary(pick(operators), left, right), Binary(pick(operators), right, left)
        return pick(forms)

    def dtypes(self, depth: int) -> tuple[Expression, Expression]:
        one, other = (Call("dtype", (self.expression("dtype", depth),)) for _ in range(2))
        return one, self.source.choice((other, Text(self.source.choice(DTYPES))))

    def words(self, depth: int) -> tuple[Expression, Expression]:
        return Name("mode"), Text(self.source.choice(WORDS))

    def call(self, kind: str, depth: int) -> Expression:
        """A call of any function with such a result, or of one for each entry of a list."""
        source = self.source
        if source.random() < 0.1:
            name = source.choice(("where", "when"))
            selected = [self.expression(kind, depth) for _ in range(2 if name == "where" else 1)]
            return Call(name, (self.expression("bool", depth), *selected))
        if kind in ("bools", "list") and source.random() < 0.25:
            results = ("bool",) if kind == "bools" else ("number", "integer")
            names = [n for n in KNOWN if FUNCTIONS[n].by_entry and FUNCTIONS[n].result in results]
            return self.called(source.choice(names), depth, is_each=True)
        names = [name for result in RESULTS[kind] for name in self.by_result.get(result, ())]
        return self.called(source.choice(names), depth) if names else self.operation(kind, depth)

    def called(self, name: str, depth: int, *, is_each: bool = False) -> Expression:
        function = FUNCTIONS[name]
        count = len(function.arguments) - self.source.randint(0, function.optional)
        count += self.source.randint(0, 2) if function.variadic else 0
        kinds = [function.kind(position) for position in range(count)]
        depth = self.source.choice((0, depth))
        if is_each:
            spread = self.source.choice(function.by_entry)
            kinds[spread] = "sizes" if kinds[spread] == "integer" else "list"
        if name == "one_of":
            kinds = [self.source.choice(("number", "integer"))] * count
        if name == "is_null":
            return Call(name, (Name(self.source.choice(("x", "y", "k", "q", "pads"))),))
        usual = {"shape": cycle(("x", "kernel")), "sizes": repeat("one")} if self.source.random() < 0.3 else {}
        return Call(
            name, tuple(Name(next(usual[kind])) if kind in usual else self.expression(kind, depth) for kind in kinds)
        )

    # ---- arguments --------------------------------------------------------------------------------------------------

    def number(self) -> int | float:
        return self.source.choice((self.integer(), -self.integer(), self.source.choice(REALS)))

    def tensor(self, *dtypes: str) -> Tensor:
        source = self.source
        shape = tuple(source.choice((0, 1, 1, 2, 3, 4, 5)) for _ in range(source.choice((0, 1, 2, 3, 3, 4, 4))))
        dtype = source.choice(dtypes or DTYPES)
        count = math.prod(shape)
        if source.random() < 0.2 or count > 40:
            return Tensor(shape, dtype)
        values = tuple(self.number() if "float" in dtype else source.randint(-2, 6) for _ in range(count))
        return Tensor(shape, dtype, lambda: values)

    def array(self) -> tuple[Tensor, ...]:
        first = self.tensor()
        more = [first if self.source.random() < 0.6 else self.tensor() for _ in range(self.source.randint(0, 2))]
        return (first, *more)

    def sizes(self) -> tuple[int, ...]:
        return tuple(self.source.choice((-1, 0, 1, 1, 1, 2, 3)) for _ in range(self.source.choice((0, 1, 1, 2, 3))))

    def arguments(self) -> dict[str, Described]:
        source = self.source
        dtype = source.choice(("float64", "int64", "bool"))
        index = [self.tensor("int64", "bool", "uint8") if source.random() < 0.7 else None for _ in range(2)]
        x = self.tensor()
        return {
            "kernel": Tensor(tuple(source.randint(1, 3) for _ in x.shape), "float32"), "out": None, "x": x,
            "y": source.choice((None, self.tensor())), "z": self.tensor(),
            "ts": self.array(), "indices": (self.tensor("int64", "bool"), *index), "n": source.randint(-3, 4),
            "k": source.choice((None, source.randint(0, 3), -self.integer())), "f": source.choice(REALS),
            "s": Scalar(float(source.randint(-3, 300)) if dtype == "float64" else source.randint(0, 1), dtype),
            "p": source.random() < 0.5, "q": source.choice((None, True, False)), "dims": self.sizes(),
            "one": (source.randint(1, 2),),
            "pads": source.choice((None, self.sizes())), "mode": source.choice(WORDS),
        }  # fmt: skip


LEAVES: Mapping[str, Sequence[str]] = {
    "number": ("n", "k", "f", "s", "N", "C", "0.5", "2.5", "inf"), "integer": ("n", "k", "N", "C"),
    "list": ("dims", "pads", "list()", "x"), "sizes": ("dims", "pads", "one", "one", "list()"),
    "shape": ("x", "x", "y", "z", "kernel", "dims"),
    "bool": ("p", "q", "true", "false"), "bools": ("p", "q"), "dtype": ("x", "y", "s", "ts"),
    "tensor": ("x", "y", "z"), "elements": ("x", "y", "z"), "tensors": ("ts", "x", "y"), "indices": ("indices",),
    "array": ("ts", "indices"),
    "dims": (), "items": (), "numbers": (), "operand": (), "extent": (), "value": (),
}  # fmt: skip
ALIASES: Mapping[str, Sequence[str]] = {
    "dims": ("sizes", "integer"), "items": ("sizes", "array"), "numbers": ("number", "list"),
    "operand": ("tensor", "tensors"), "extent": ("shape", "sizes", "tensors"), "value": ("number",),
}  # fmt: skip
RESULTS: Mapping[str, Sequence[str]] = {
    "number": ("number", "integer"), "integer": ("integer", "number"), "list": ("list", "sizes", "shape"),
    "sizes": ("sizes", "shape", "list"), "shape": ("shape", "sizes"), "bool": ("bool",), "dtype": ("dtype",),
    "bools": (),
}  # fmt: skip


# ---- the program ----------------------------------------------------------------------------------------------------


def token(value: int | float) -> str:
    return f"i {int(value)}" if isinstance(value, int) else f"r {value!r}"


def tensor_text(value: Tensor | None, dtypes: Mapping[str, int]) -> str:
    if value is None:
        return "-"
    known = "unknown"
    if value.values is not None:
        known = " ".join(["known", str(len(value.elements())), *map(token, value.elements())])
    return " ".join(map(str, (dtypes[value.dtype], len(value.shape), *value.shape, known)))


def argument_text(value: Described, dtypes: Mapping[str, int], is_array: bool) -> str:
    if value is None:
        return "null"
    if isinstance(value, Tensor):
        return f"tensor {tensor_text(value, dtypes)}"
    if isinstance(value, Scalar):
        return f"scalar {dtypes[value.dtype]} {token(value.value)}"
    if isinstance(value, tuple):
        members = [tensor_text(one, dtypes) if is_array else str(one) for one in value]  # type: ignore[arg-type]  # by is_array
        return " ".join(["tensors" if is_array else "sizes", str(len(members)), *members])
    if isinstance(value, bool):
        return f"bool {int(value)}"
    return f"text {value}" if isinstance(value, str) else f"number {token(value)}"


def row_text(row: str) -> str:
    """A node of the tables as the program reads it, with numbers for operations and functions."""
    fields = row.replace("{}", "0")[1:-1].replace("kInfinity", "inf").split(", ")
    fields += ["Fn::none", "0", "0", "0", "0", "-"][len(fields) - 1 :]
    op, function, *others = fields
    numbers = OPS.index(op.removeprefix("Op::")), [*KNOWN, "unknown", "none"].index(function.removeprefix("Fn::"))
    return " ".join((*map(str, numbers), *(field.strip('"') for field in others)))


def agrees(expected: Any, line: str) -> bool:
    """Returns whether a line of the program is this value. Integers beyond int64 are rounded there."""
    kind, *words = line.split()
    if kind == "word":
        return bool(expected == words[0])
    if kind == "undefined" or kind == "operand":
        return expected is Undefined if kind == "undefined" else isinstance(expected, (Tensor, Scalar, tuple))
    if kind in ("number", "bool"):
        return len(words) == 1 and not isinstance(expected, (tuple, str)) and is_close(expected, words[0])
    return isinstance(expected, tuple) and len(words) == len(expected) and all(map(is_close, expected, words))


def is_close(expected: Any, word: str) -> bool:
    if not isinstance(expected, (int, float)):
        return False
    found = float(word[:-1]) if word.endswith("r") else int(word)
    if isinstance(expected, int) and not -(2**63) <= expected < 2**63:
        return math.isclose(found, expected, rel_tol=1e-12)
    is_same = found == expected or (math.isnan(found) and math.isnan(expected))
    return is_same and isinstance(expected, float) == isinstance(found, float)


# ---- the test -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Interface:
    folder = tmp_path_factory.mktemp("expressions") / "spec"
    small_spec.write(folder, OPERATORS)
    sink = Sink()
    loaded = load_interface(folder, sink)
    assert sink.sorted() == []
    return loaded.interface


def value(arguments: Arguments, expression: Expression) -> Any:
    """The value in Python, or `Undefined`."""
    try:
        return arguments.value(expression)
    except (Undefined, ArithmeticError):
        return Undefined


def is_rounded(arguments: Arguments, expression: Expression) -> bool:
    """Returns whether an integer on the way may be beyond int64, which C++ rounds: inside of a function, too."""
    parts = list(walk(expression))
    calls = [part for part in parts if isinstance(part, Call)]
    multiplied = [one for one in calls if FUNCTIONS[one.function].formula or one.function in ("sum", "prod")]
    inner = {id(argument) for call in multiplied for argument in call.arguments}
    for part in parts:
        found = value(arguments, part)
        if isinstance(found, Tensor):
            found = found.elements() if found.values else ()
        entries = found if isinstance(found, tuple) else (found,)
        if any(isinstance(one, int) and abs(one) > (2**31 if id(part) in inner else 2**62) for one in entries):
            return True
    return False


def test_both_evaluators_agree(interface: Interface) -> None:
    (function,) = interface.functions
    source = random.Random(5)
    drawn, contract = Drawn(source), Contract(function)
    enum_values = {one.name: one.value for enum in interface.enums for one in enum.values}
    dtypes = {info.name: enum_values[info.enum] for info in interface.dtypes}
    tables = Tables(enum_values)
    scope = _Contract(tables, function)
    lines, expected, asked = [], [], []
    for _ in range(500):
        values = drawn.arguments()
        arguments = Arguments(function, values, contract)
        roots = []
        for _ in range(12):
            expression = drawn.root()
            kinds = Kinds(function, {}, frozenset())
            kinds.infer(expression)
            assert kinds.faults == [], to_text(expression)
            if not is_rounded(arguments, expression):
                roots.append(scope.expression(expression))
                expected.append(value(arguments, expression))
                asked.append((expression, values))
        texts = [argument_text(values[p.name], dtypes, p.type == "tensors") for p in function.params]
        sizes = [str(arguments.dimensions.get(name, -1)) for name in scope.names]
        lines.append(
            " ".join(["call", str(len(texts)), *texts, str(len(sizes)), *sizes, str(len(roots)), *map(str, roots)])
        )
    rows = [row_text(row) for row in tables.nodes]
    text = "\n".join([str(len(rows)), *rows, " ".join(map(str, [len(tables.children), *tables.children])), *lines])
    command = [str(artefact("dispatch/expression_program"))]
    found = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(found) == len(expected)
    wrong = [
        f"{to_text(expression)}: {line} in C++, {one} in Python; {values}"
        for one, line, (expression, values) in zip(expected, found, asked, strict=True)
        if not agrees(one, line)
    ]
    assert wrong == []
    defined = Counter(
        part.function for one, (expression, _) in zip(expected, asked, strict=True) if one is not Undefined
        for part in walk(expression) if isinstance(part, Call)
    )  # fmt: skip
    assert {name: defined[name] for name in KNOWN if name != "split" and not defined[name]} == {}
    assert len(expected) > 5000 and sum(one is not Undefined for one in expected) > 3000
