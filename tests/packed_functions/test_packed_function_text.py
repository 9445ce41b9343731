"""Packed functions as they are generated: one for every operator, arguments and results in their order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from diopigen.emit.operands import is_operator
from diopigen.emit.tvm_ffi.arguments import is_destination, passed, returned
from diopigen.emit.tvm_ffi.functions import function_text
from diopigen.emit.tvm_ffi.stubs import doc_text, method_text
from diopigen.ir.model import Function, Interface

GENERATED = Path(__file__).resolve().parents[2] / "generated/tvm_ffi"
DEFINITION = re.compile(r"^TVM_FFI_DLL_EXPORT int __tvm_ffi_(\w+)\(", re.MULTILINE)


def _function(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def test_every_operator_has_one_packed_function(interface: Interface) -> None:
    names = {function.name for function in interface.functions if is_operator(function)}
    text = "".join(path.read_text() for path in sorted(GENERATED.glob("*.cpp")) if path.name != "packed_functions.cpp")
    defined = DEFINITION.findall(text)
    assert len(defined) == len(set(defined)) == len(names)
    assert set(defined) == names
    listed = (GENERATED / "packed_functions.h").read_text()
    assert f"constexpr size_t function_count = {len(names)};" in listed


def test_every_operator_has_a_method_in_the_stub() -> None:
    module = ast.parse((GENERATED / "operators.pyi").read_text())
    operators = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Operators")
    methods = [node for node in operators.body if isinstance(node, ast.FunctionDef)]
    defined = DEFINITION.findall("".join(path.read_text() for path in GENERATED.glob("*.cpp")))
    assert len(methods) == len({method.name for method in methods}) == len(defined)
    assert all(ast.get_docstring(method) for method in methods)


@pytest.mark.parametrize(
    ("name", "arguments", "results"),
    [
        ("diopiSoftmax", "input dim out", ""),
        ("diopiReluInp", "input", ""),
        ("diopiNonzero", "input", "out"),
        ("diopiUnique", "input dim sorted return_counts counts indices", "out counts"),
        ("diopiClipGradNorm", "grads num_grads max_norm norm_type error_if_nonfinite", "out"),
        ("diopiSort", "input dim descending pStable values indices", ""),
    ],
)
def test_what_is_written_comes_last(interface: Interface, name: str, arguments: str, results: str) -> None:
    function = _function(interface, name)
    assert " ".join(param.name for param in passed(function)) == arguments
    assert " ".join(param.name for param in returned(function)) == results
    order = [is_destination(param) for param in passed(function)]
    assert order == sorted(order)


def test_the_text_of_a_packed_function(interface: Interface) -> None:
    assert (
        function_text(_function(interface, "diopiUnique"))
        == """\
TVM_FFI_DLL_EXPORT int __tvm_ffi_diopiUnique(void* handle, const TVMFFIAny* args, int32_t arity, TVMFFIAny* result) {
    return ffi::guarded(ffi::name_of(ffi::Function::kUnique), [&] {
        using Operator = decltype(&diopiUnique);
        ffi::Call call(ffi::Function::kUnique, handle, args, arity, 6, result);
        const auto input = call.tensor(0, "input");
        const ffi::Optional<int64_t> dim(call.argument(1, "dim"));
        const auto sorted = call.number<bool>(2, "sorted");
        const auto return_counts = call.number<bool>(3, "return_counts");
        diopiTensorHandle_t counts = nullptr;
        const auto indices = call.tensor(5, "indices");
        diopiTensorHandle_t out = nullptr;
        call.run<Operator>(&out, input, dim, sorted, return_counts, indices,
                           call.is_wanted(4, "counts") ? &counts : nullptr);
        call.returns(out);
        call.returns(counts);
        call.finish();
    });
}"""
    )


def test_the_stub_of_a_method(interface: Interface) -> None:
    text = method_text(_function(interface, "diopiSoftmax"), interface)
    assert text.startswith("    def softmax(self, input: T, dim: int, *, out: T | None = None) -> T:\n")
    doc = doc_text(_function(interface, "diopiSoftmax"), interface)
    assert "dim: Dimension along which the results add up to 1" in doc
    assert all(line.strip() in text for line in doc.splitlines())
