"""A mock vendor for every operator of an interface, as C++: what each receives goes to `mock::operate`."""

from __future__ import annotations

from diopigen.config.grammar import is_operator
from diopigen.header.signature import c_function
from diopigen.ir.model import DtypeList, Function, Interface, Parameter

BUILT_IN = frozenset({"diopiCastDtype", "diopiCopyInp", "diopiContiguous", "diopiEqual"})
_ACCESS = {"in": "i", "out": "o", "inout": "b", "partial_out": "p"}
TENSOR_TYPES = ("tensor", "tensors", "new_tensor", "new_tensors")


def mocked(interface: Interface) -> list[Function]:
    """The operators that get a mock: all that have a context and tensors."""
    return [
        function
        for function in interface.functions
        if is_operator(function)
        and function.context
        and function.returns == "status"
        and any(param.type in TENSOR_TYPES for param in function.params)
    ]


def mock_source(interface: Interface) -> str:
    """The vendor's functions in `impl::mock`, and each again as `direct_diopiXxx` with C linkage."""
    functions = [function for function in mocked(interface) if function.name not in BUILT_IN]
    bodies = "\n".join(_definition(function, interface) for function in functions)
    direct = "\n".join(_direct(function) for function in functions)
    includes = "\n".join(f"#include <diopi/{header.file}>" for header in interface.headers)
    return (
        f'{includes}\n#include "vendor.h"\n#pragma GCC diagnostic ignored "-Wunused-parameter"\n'
        f"namespace impl {{ namespace mock {{\n{bodies}\n}} }}\n"
        f'extern "C" {{\n{direct}\n}}\n'
    )


def _parameters(function: Function) -> str:
    return ", ".join(f"{param.type} {param.name}" for param in c_function(function).params)


def _definition(function: Function, interface: Interface) -> str:
    enums = {info.name: info.enum for info in interface.dtypes}
    tensors = [param for param in function.params if param.type in TENSOR_TYPES]
    arguments = ", ".join(_argument(param, tensors, enums) for param in tensors)
    return f"diopiError_t {function.name}({_parameters(function)}) {{ return ::mock::operate(ctx, {{{arguments}}}); }}"


def _argument(param: Parameter, tensors: list[Parameter], enums: dict[str, str]) -> str:
    head = f'"{param.name}"'
    if param.type == "tensor":
        return f"{{{head}, '{_ACCESS[param.direction]}', {param.name}, nullptr, nullptr, 1, diopi_dtype_int8, -1}}"
    if param.type == "tensors":
        const = f"const_cast<const diopiConstTensorHandle_t*>({param.name})"
        return (
            f"{{{head}, '{_ACCESS[param.direction]}', nullptr, {const}, nullptr, {param.count}, diopi_dtype_int8, -1}}"
        )
    count = param.count if param.type == "new_tensors" else 1
    dtype, follows = "diopi_dtype_float32", -1
    if isinstance(param.dtype, DtypeList):
        dtype = enums[param.dtype.dtypes[0]]
    elif param.dtype is not None:
        name = param.dtype.formula.text.removeprefix("same(").removesuffix(")")
        follows = next(position for position, tensor in enumerate(tensors) if tensor.name == name)
    return f"{{{head}, 'n', nullptr, nullptr, {param.name}, {count}, {dtype}, {follows}}}"


def _direct(function: Function) -> str:
    names = ", ".join(param.name for param in c_function(function).params)
    return (
        f"diopiError_t direct_{function.name}({_parameters(function)}) "
        f"{{ return impl::mock::{function.name}({names}); }}"
    )
