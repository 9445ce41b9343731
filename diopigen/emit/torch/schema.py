"""ATen's schema types in C++, as kernels of PyTorch are declared."""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.ir.aten import AtenArgument, AtenSchema, parse_schema
from diopigen.ir.model import Function, Interface

_VALUES = {
    "int": "int64_t",
    "SymInt": "int64_t",
    "float": "double",
    "bool": "bool",
    "SymBool": "bool",
    "str": "std::string_view",
    "ScalarType": "at::ScalarType",
    "Layout": "at::Layout",
    "Device": "at::Device",
    "MemoryFormat": "at::MemoryFormat",
    "Generator": "at::Generator",
    "Stream": "at::Stream",
    "Storage": "at::Storage",
    "QScheme": "at::QScheme",
    "DeviceIndex": "c10::DeviceIndex",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel as C++ sees it: `result name(parameters)`."""

    result: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def texts(self) -> list[str]:
        """`type name` of each parameter."""
        return [f"{kind} {name}" for kind, name in self.parameters]

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [name for _, name in self.parameters]


def schema_of(interface: Interface, overload: str) -> AtenSchema | None:
    """The schema of an overload, or None where the release has no such overload."""
    text = interface.aten.schemas.get(overload)
    return None if text is None else parse_schema(text)


def functional_overloads(interface: Interface, function: Function) -> list[str]:
    """The overloads of a function that write to none of their arguments."""
    schemas = [schema_of(interface, overload.name) for overload in function.aten]
    return [one.name for one in schemas if one is not None and not any(a.written for a in one.arguments)]


def _tensor(argument: AtenArgument, structured: bool) -> str:
    if argument.is_list:
        if argument.optional or argument.optional_items:
            return "const c10::List<std::optional<at::Tensor>>&"
        return "const at::ITensorListRef&" if structured and not argument.written else "at::TensorList"
    if argument.optional:
        return "const std::optional<at::Tensor>&"
    return "at::Tensor&" if argument.written else "const at::Tensor&"


def _scalar(argument: AtenArgument) -> str:
    if argument.is_list:
        return "at::ArrayRef<at::Scalar>"
    return "const std::optional<at::Scalar>&" if argument.optional else "const at::Scalar&"


def cpp_type(argument: AtenArgument, structured: bool = False) -> str:
    """The type of an argument; structured operators take their lists of tensors by another type."""
    if argument.type == "Tensor":
        return _tensor(argument, structured)
    if argument.type == "Scalar":
        return _scalar(argument)
    value = _VALUES[argument.type]
    if argument.is_list:
        if argument.type in ("int", "SymInt"):
            return "at::OptionalIntArrayRef" if argument.optional else "at::IntArrayRef"
        if argument.type == "bool" and argument.length is not None:
            return f"std::array<bool, {argument.length}>"
        array = f"at::ArrayRef<{value}>"
        return f"std::optional<{array}>" if argument.optional else array
    return f"std::optional<{value}>" if argument.optional else value


def _result(schema: AtenSchema) -> str:
    kinds = []
    for returned in schema.returns:
        if returned.type == "Tensor" and returned.is_list:
            kinds.append("std::vector<at::Tensor>")
        elif returned.type == "Tensor":
            kinds.append("at::Tensor&" if returned.written else "at::Tensor")
        elif returned.type == "Scalar":
            kinds.append("at::Scalar")
        elif returned.type == "SymInt":
            # The dispatcher converts such arguments for a kernel that takes integers, but no results.
            kinds.append("c10::SymInt")
        else:
            kinds.append(_VALUES[returned.type])
    if not kinds:
        return "void"
    return kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"


def signature(schema: AtenSchema, structured: bool = False) -> Signature:
    """The C++ signature of an overload's kernel."""
    parameters = tuple((cpp_type(argument, structured), argument.name) for argument in schema.arguments)
    return Signature(_result(schema), parameters)


def operator_class(overload: str) -> str:
    """The class of `ATen/ops/<name>_ops.h` that stands for an overload."""
    base, _, name = overload.partition(".")
    return f"at::_ops::{base}_{name}" if name else f"at::_ops::{base}"


def operator_header(overload: str) -> str:
    """The header that declares that class. Overloads in place share it with the others."""
    base = overload.partition(".")[0]
    if base.startswith("__") and base.endswith("__"):
        base = base[2:-2].removeprefix("i")  # __and__ and __iand__; none of them starts with an i of its own
    elif base.endswith("_"):
        base = base[:-1]
    return f"ATen/ops/{base}_ops.h"
