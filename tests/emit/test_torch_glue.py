"""The glue for PyTorch: what is emitted for the miniature spec, and what is refused with which words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from diopigen import api
from diopigen.diagnostics import Failure, Sink
from diopigen.emit.torch import glue as torch
from diopigen.emit.torch.arguments import dtype_set
from diopigen.emit.torch.schema import cpp_type, operator_class, operator_header, schema_of, signature
from diopigen.emit.torch.structured import structured_kernel
from diopigen.findings.render import render
from diopigen.ir.aten import parse_schema
from diopigen.ir.load import load_interface
from diopigen.ir.model import DtypeList, Interface

ROOT = Path(__file__).parents[2]
MINIATURE = ROOT / "tests/data/miniature"


def _interface(folder: Path) -> Interface:
    sink = Sink()
    loaded = load_interface(folder, sink, "specs")
    assert sink.sorted() == []
    return loaded.interface


def _refused(folder: Path, text: str) -> str:
    shutil.copytree(MINIATURE, folder)
    (folder / "torch.yaml").write_text(text)
    with pytest.raises(Failure) as caught:
        torch.emit(_interface(folder), ROOT / "templates")
    return render(caught.value.diagnostics, "text")


def test_a_kernel_of_a_structured_operator_reads_so() -> None:
    interface = _interface(MINIATURE)
    group = interface.aten.structured[0]
    function = interface.function("diopiBlend")
    assert function is not None
    assert (
        structured_kernel(interface, group, function, {}).text == (ROOT / "tests/emit/expected/blend.cpp").read_text()
    )


def test_types_of_arguments_are_those_of_kernels() -> None:
    schema = parse_schema(
        "f.x(Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Scalar e, Scalar? f, int g, SymInt[2] h, int[1]? i, float j,"
        " bool[3] k, str? l, ScalarType? m, Generator? n, Tensor(a!) o, Scalar[] p, float[]? q) -> (Tensor, Tensor)"
    )
    assert [cpp_type(argument) for argument in schema.arguments] == [
        "const at::Tensor&",
        "const std::optional<at::Tensor>&",
        "at::TensorList",
        "const c10::List<std::optional<at::Tensor>>&",
        "const at::Scalar&",
        "const std::optional<at::Scalar>&",
        "int64_t",
        "at::IntArrayRef",
        "at::OptionalIntArrayRef",
        "double",
        "std::array<bool, 3>",
        "std::optional<std::string_view>",
        "std::optional<at::ScalarType>",
        "std::optional<at::Generator>",
        "at::Tensor&",
        "at::ArrayRef<at::Scalar>",
        "std::optional<at::ArrayRef<double>>",
    ]
    assert signature(schema).result == "std::tuple<at::Tensor, at::Tensor>"


@pytest.mark.parametrize(
    ("overload", "name", "header"),
    [
        ("add.out", "at::_ops::add_out", "ATen/ops/add_ops.h"),
        ("add_.Tensor", "at::_ops::add__Tensor", "ATen/ops/add_ops.h"),
        ("__iand__.Scalar", "at::_ops::__iand___Scalar", "ATen/ops/and_ops.h"),
        ("_softmax", "at::_ops::_softmax", "ATen/ops/_softmax_ops.h"),
    ],
)
def test_classes_and_headers_of_overloads(overload: str, name: str, header: str) -> None:
    assert (operator_class(overload), operator_header(overload)) == (name, header)


def test_sets_of_dtypes_are_constants() -> None:
    span = _interface(MINIATURE).functions[0].span
    assert dtype_set(DtypeList(("number", "complex"), (), span)) == "kNumber | kComplex"
    assert dtype_set(DtypeList(("any",), (), span)) == ""


def test_names_of_torch_yaml_are_checked(tmp_path: Path) -> None:
    text = """\
handwritten:
  - {overload: wive, function: wave, calls: [Wave], why: a slip}
  - {overload: wave, function: wave, calls: [Wawe], why: another}
left_out:
  - {overload: wave, why: twice}
  - {overload: blend.out, why: it would be served}
"""
    assert _refused(tmp_path / "specs", text) == (ROOT / "tests/emit/expected/torch-unknown.txt").read_text()


def test_an_overload_that_nothing_serves_is_named(tmp_path: Path) -> None:
    said = _refused(tmp_path / "specs", "handwritten: []\n")
    assert said == (ROOT / "tests/emit/expected/torch-unserved.txt").read_text()


def test_every_schema_of_the_release_has_a_signature() -> None:
    """All that a kernel could be asked for: no type of the snapshot is unknown."""
    interface = api.load(api.workspace(), Sink(), check=False).interface
    for overload in interface.aten_schemas:
        schema = schema_of(interface, overload)
        assert schema is not None
        signature(schema)
