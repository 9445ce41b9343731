"""The published JSON Schemas and our own reader accept and refuse the same files."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sampling import some
from spec_helpers import MINIATURE, SPECS, kind_of_file, plain, root_of

from diopigen.check.rule import check_interface
from diopigen.diagnostics import Sink
from diopigen.emit.json.schemas import words
from diopigen.ir.load import load_interface
from diopigen.spec.grammar import FILES
from diopigen.spec.schema import to_json_schema, validate
from diopigen.spec.yaml_reader import parse_yaml

SCHEMAS = {kind: to_json_schema(shape, kind) for kind, shape in FILES.items()}


def accepted_by_schema(kind: str, document: Any) -> bool:
    return jsonschema.Draft7Validator(SCHEMAS[kind]).is_valid(document)


def accepted_by_reader(kind: str, text: str) -> bool:
    sink = Sink()
    node = parse_yaml(text, "f.yaml", sink)
    assert node is not None, "the documents of this test are sound YAML"
    good = validate(node, FILES[kind], "the file", sink)
    assert good == (not sink.has_errors)
    return good


@pytest.mark.parametrize("kind", FILES)
def test_the_schema_is_draft_7(kind: str) -> None:
    assert SCHEMAS[kind]["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize(
    "path", some([*sorted(MINIATURE.rglob("*.yaml")), *sorted(SPECS.rglob("*.yaml"))], 4), ids=lambda path: path.name
)
def test_both_accept_every_file_of_a_spec(path: Path) -> None:
    kind = kind_of_file(path)
    assert accepted_by_reader(kind, path.read_text())
    assert accepted_by_schema(kind, plain(root_of(path)))


OPERATOR = "family: f\nheader: h.h\noperators:\n  - name: Op\n    doc: It works.\n    params:\n{param}{rest}"
PARAM = "      - {name: a, type: tensor, doc: It is.}\n"

SOUND = {
    "smallest operators file": ("ops", OPERATOR.format(param=PARAM, rest="")),
    "no operators": ("ops", "family: f\nheader: h.h\noperators: []\n"),
    "recipes hold anything": ("ops", OPERATOR.format(param=PARAM, rest="    cases: [{a: {b: [null, 1.5, {c: d}]}}]\n")),
    "a default of every kind": (
        "ops",
        OPERATOR.format(
            param="".join(
                f"      - {{name: a, type: int, default: {value}, doc: d}}\n"
                for value in ("1", "1.5", "true", "null", "word", "[1, null]", "[]")
            ),
            rest="",
        ),
    ),
    "a kernel with let": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: {let: {a: '1'}, out: a, more: a}\n")),
    "short and long variants": ("ops", OPERATOR.format(param=PARAM, rest="    variants: [scalar, {kind: inplace}]\n")),
    "no schemas": ("aten", "torch: '2.0'\nschemas: []\n"),
}

BAD = {
    "root is a list": ("ops", "- family\n"),
    "root is a word": ("ops", "family\n"),
    "root is null": ("ops", "null\n"),
    "unknown key at the root": ("ops", "family: f\nheader: h.h\noperators: []\ncolour: red\n"),
    "missing key at the root": ("ops", "family: f\noperators: []\n"),
    "family is a number": ("ops", "family: 1\nheader: h.h\noperators: []\n"),
    "family is no word": ("ops", "family: f-g\nheader: h.h\noperators: []\n"),
    "header without suffix": ("ops", "family: f\nheader: h\noperators: []\n"),
    "header with a folder": ("ops", "family: f\nheader: x/h.h\noperators: []\n"),
    "operators is a mapping": ("ops", "family: f\nheader: h.h\noperators: {a: b}\n"),
    "operator is a text": ("ops", "family: f\nheader: h.h\noperators: [Add]\n"),
    "name in lower case": ("ops", OPERATOR.replace("Op", "op").format(param=PARAM, rest="")),
    "doc is null": ("ops", OPERATOR.replace("It works.", "null").format(param=PARAM, rest="")),
    "unknown key of an operator": ("ops", OPERATOR.format(param=PARAM, rest="    kernal: a\n")),
    "since is a number": ("ops", OPERATOR.format(param=PARAM, rest="    since: 1.0\n")),
    "since is no version": ("ops", OPERATOR.format(param=PARAM, rest="    since: v1\n")),
    "unknown tolerance": ("ops", OPERATOR.format(param=PARAM, rest="    tolerance: fuzzy\n")),
    "context is a text": ("ops", OPERATOR.format(param=PARAM, rest="    context: 'true'\n")),
    "overload with two dots": ("ops", OPERATOR.format(param=PARAM, rest="    aten: [a.b.c]\n")),
    "parameter without type": ("ops", OPERATOR.format(param="      - {name: a, doc: d}\n", rest="")),
    "unknown direction": ("ops", OPERATOR.format(param=PARAM.replace("doc", "direction: ou, doc"), rest="")),
    "empty dtype": ("ops", OPERATOR.format(param=PARAM.replace("doc", "dtype: [], doc"), rest="")),
    "dtype is a number": ("ops", OPERATOR.format(param=PARAM.replace("doc", "dtype: 32, doc"), rest="")),
    "negative dimension": ("ops", OPERATOR.format(param=PARAM.replace("doc", "shape: [-1], doc"), rest="")),
    "dimension is true": ("ops", OPERATOR.format(param=PARAM.replace("doc", "shape: [true], doc"), rest="")),
    "nullable is a number": ("ops", OPERATOR.format(param=PARAM.replace("doc", "nullable: 1, doc"), rest="")),
    "negative count": ("ops", OPERATOR.format(param=PARAM.replace("doc", "count: -2, doc"), rest="")),
    "default is a mapping": ("ops", OPERATOR.format(param=PARAM.replace("doc", "default: {a: b}, doc"), rest="")),
    "default is a list of lists": ("ops", OPERATOR.format(param=PARAM.replace("doc", "default: [[1]], doc"), rest="")),
    "kernel is a list": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: [a]\n")),
    "kernel of an output is a mapping": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: {out: {a: b}}\n")),
    "let is a text": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: {let: a, out: a}\n")),
    "let is nested": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: {let: {a: {b: c}}}\n")),
    "kernel with an odd key": ("ops", OPERATOR.format(param=PARAM, rest="    kernel: {1a: b}\n")),
    "unknown variant": ("ops", OPERATOR.format(param=PARAM, rest="    variants: [outplace]\n")),
    "variant without kind": ("ops", OPERATOR.format(param=PARAM, rest="    variants: [{name: B}]\n")),
    "empty operands": ("ops", OPERATOR.format(param=PARAM, rest="    variants: [{kind: scalar, operands: []}]\n")),
    "override renames": (
        "ops",
        OPERATOR.format(param=PARAM, rest="    variants: [{kind: scalar, params: {a: {name: b}}}]\n"),
    ),
    "constraint id": (
        "ops",
        OPERATOR.format(param=PARAM, rest="    constraints: [{id: C0, note: t, error: e, untestable: u}]\n"),
    ),
    "case is a list": ("ops", OPERATOR.format(param=PARAM, rest="    cases: [[a]]\n")),
    "device function without params": (
        "runtime",
        "family: f\nheader: h.h\noperators: []\ndevice_functions:\n"
        "  - {name: a, doc: d, returns: int, register: diopiA, linked_name: a, missing_error: e}\n",
    ),
    "no device functions": ("runtime", "family: f\nheader: h.h\noperators: []\n"),
    "order of odd names": ("headers", "headers: [{file: h.h, doc: d, order: [a-b]}]\n"),
    "includes is a text": ("headers", "headers: [{file: h.h, doc: d, includes: x.h, order: []}]\n"),
    "release is a number": ("aten", "torch: 2.0\nschemas: []\n"),
    "schema is a number": ("aten", "torch: '2.0'\nschemas: [1]\n"),
}


def document_of(text: str) -> object:
    node = parse_yaml(text, "f.yaml", Sink())
    assert node is not None
    return plain(node)


@pytest.mark.parametrize("name", SOUND)
def test_both_accept(name: str) -> None:
    kind, text = SOUND[name]
    assert accepted_by_reader(kind, text)
    assert accepted_by_schema(kind, document_of(text))


@pytest.mark.parametrize("name", BAD)
def test_both_reject(name: str) -> None:
    kind, text = BAD[name]
    assert not accepted_by_reader(kind, text)
    assert not accepted_by_schema(kind, document_of(text))


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a document."""
    found = [here]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += paths(inner, (*here, key))
    return found


def replaced(document: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    document = copy.copy(document)
    document[path[0]] = replaced(document[path[0]], path[1:], new)
    return document


@pytest.mark.parametrize(
    "file", ["types.yaml", "headers.yaml", "runtime.yaml", "aten/miniature.yaml", "ops/arithmetic.yaml"]
)
def test_both_accept_or_reject_every_replaced_value_alike(file: str) -> None:
    """Every value of a file in turn becomes something of another kind; JSON is YAML, so our reader reads the result."""
    document = plain(root_of(MINIATURE / file))
    kind = kind_of_file(MINIATURE / file)
    validator = jsonschema.Draft7Validator(SCHEMAS[kind])
    verdicts = set()
    others: tuple[object, ...] = (None, True, -1, 2.5, "", "a b", [], [[]], {}, {"let": 1})
    positions = paths(document)
    tried = len(others) if len(positions) < 60 else 1  # each value in each place of a large file would take a minute
    for position, path in enumerate(positions):
        for turn in range(tried):
            new = others[(position * 7 + turn) % len(others)]
            changed = replaced(document, path, new)
            good = validator.is_valid(changed)
            assert accepted_by_reader(kind, json.dumps(changed)) == good, (path, new)
            verdicts.add(good)
    assert verdicts == {True, False}


def test_a_whole_number_with_a_point_is_the_one_difference() -> None:
    """JSON has one kind of number, so that a schema cannot tell 1.0 from 1; our reader asks for an integer."""
    text = "version: {major: 1.0, minor: 0, patch: 0}\nheader: h.h\nenums: []\nstructs: []\nhandles: []\n"
    text += "dtypes: []\ndtype_sets: []\n"
    assert not accepted_by_reader("types", text)
    assert accepted_by_schema("types", document_of(text))


WORDS = words(load_interface(MINIATURE, Sink()).interface)
KNOWING = {kind: to_json_schema(shape, kind, WORDS) for kind, shape in FILES.items()}
"""The schemas as they are generated for the miniature spec: with its dtypes and types."""

NAMED = {
    "a dtype": ("dtype: float32", True),
    "a set": ("dtype: floating", True),
    "a list of both": ("dtype: [floating, int32]", True),
    "a rule": ("dtype: same(a)", True),
    "a nested rule": ("dtype: 'to_float(promote(a, a))'", True),
    "a misspelled dtype": ("dtype: flaot32", False),
    "a dtype of another spec": ("dtype: [float16]", False),
    "a misspelled dtype in a list": ("dtype: [int32, flaot32]", False),
    "a misspelled rule": ("dtype: sam(a)", False),
    "a product": ("dtype: a * 2", False),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_schema_of_an_interface_knows_its_dtypes_as_the_reader_does(name: str, tmp_path: Path) -> None:
    written, is_good = NAMED[name]
    param = f"      - {{name: a, type: tensor, direction: in, {written}, shape: any, doc: It is.}}\n"
    text = OPERATOR.replace("h.h", "functions.h").format(param=param, rest="")
    assert jsonschema.Draft7Validator(KNOWING["ops"]).is_valid(document_of(text)) == is_good
    shutil.copytree(MINIATURE, tmp_path / "spec")
    (tmp_path / "spec/ops/f.yaml").write_text(text)
    sink = Sink()
    loaded = load_interface(tmp_path / "spec", sink)
    check_interface(loaded.interface, sink, complete=loaded.complete)
    rejected = {"unknown-dtype", "unknown-rule"} & {found.code for found in sink.sorted()}
    assert bool(rejected) != is_good


@pytest.mark.parametrize(("type_name", "is_good"), [("int64", True), ("diopiRounding_t", True), ("integer", False)])
def test_a_schema_of_an_interface_knows_its_types(type_name: str, is_good: bool) -> None:
    text = OPERATOR.format(param=f"      - {{name: a, type: {type_name}, doc: It is.}}\n", rest="")
    assert jsonschema.Draft7Validator(KNOWING["ops"]).is_valid(document_of(text)) == is_good


@pytest.mark.parametrize("path", sorted(MINIATURE.rglob("*.yaml")), ids=lambda path: path.name)
def test_a_schema_of_an_interface_accepts_its_files(path: Path) -> None:
    validator = jsonschema.Draft7Validator(KNOWING[kind_of_file(path)])
    assert [error.message for error in validator.iter_errors(plain(root_of(path)))] == []


def test_the_generated_schemas_accept_the_spec_and_reject_a_misspelled_dtype() -> None:
    schema = json.loads((SPECS.parent / "generated/schema/ops.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    document = plain(root_of(SPECS / "ops/norm.yaml"))
    assert [error.message for error in validator.iter_errors(document)] == []
    document["operators"][0]["params"][0]["dtype"] = ["float23"]
    assert not validator.is_valid(document)
