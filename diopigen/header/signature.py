"""The spec's side of a comparison: C types of parameters, and the whole interface as C declarations."""

from __future__ import annotations

from collections.abc import Iterable

from diopigen.header.cdecl import (
    CEnum,
    CField,
    CFunction,
    CInterface,
    CParam,
    CStruct,
    CTypedef,
    canonical_type,
    enum_type,
)
from diopigen.ir.c_types import HandleType
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.naming import DIOPI

CONTEXT = CParam("ctx", "diopiContextHandle_t")

_VALUES = {
    "bool": "bool",
    "int": "int",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "size_t": "size_t",
    "float": "float",
    "double": "double",
}
_POINTED = {
    "new_tensor": "diopiTensorHandle_t",
    "new_tensors": "diopiTensorHandle_t",
    "borrowed_tensor": "diopiConstTensorHandle_t",
    "generators": "diopiGeneratorHandle_t",
}


def c_type(param: Parameter) -> str:
    """The C type of a parameter, in canonical spelling (`T *`)."""
    if param.c_type:
        return canonical_type(param.c_type)
    read_only = param.direction == "in" and not param.mutable
    if param.type in ("tensor", "tensors"):
        handle = "diopiConstTensorHandle_t" if read_only else "diopiTensorHandle_t"
        return f"{handle} *" if param.type == "tensors" else _const(param, handle)
    if param.type in _POINTED:
        return f"{_POINTED[param.type]} *"
    if param.type == "scalar":
        return "const diopiScalar_t *" if read_only else "diopiScalar_t *"
    if param.type == "sizes":
        if param.direction != "in" or ((param.nullable or param.pointer) and param.mutable):
            return "diopiSize_t *"
        return "const diopiSize_t *" if param.nullable or param.pointer else _const(param, "diopiSize_t")
    if param.type == "string":
        return "const char *" if param.direction == "in" else "const char **"
    if param.type == "stream":
        return "diopiStreamHandle_t" if param.direction == "in" else "diopiStreamHandle_t *"
    if param.type == "buffer":
        return "const void *" if read_only else "void *"
    if param.type == "generator":
        return "diopiConstGeneratorHandle_t" if param.direction == "in" else "diopiGeneratorHandle_t"
    if param.type == "context":
        return "diopiContextHandle_t"
    if param.type == "opaque":
        if param.direction == "in":
            return "void *"
        return "const void **" if param.const else "void **"
    value = _VALUES.get(param.type, param.type)
    if param.direction != "in":
        return f"{value} *"
    return f"const {value} *" if param.nullable or param.pointer else _const(param, value)


def _const(param: Parameter, name: str) -> str:
    return f"const {name}" if param.const else name


def c_params(function: Function) -> tuple[CParam, ...]:
    """The C parameters of a function, the context first where it has one."""
    own = tuple(CParam("" if p.unnamed else p.name, c_type(p), p.span) for p in function.params)
    return (CONTEXT, *own) if function.context else own


def c_function(function: Function) -> CFunction:
    """The C declaration of a function."""
    words = {"string": "const char *", "status": function.naming.status}
    returns = canonical_type(words.get(function.returns, function.returns))
    deprecated = function.deprecated is not None
    params = c_params(function)
    return CFunction(
        function.name,
        returns,
        params,
        function.weak,
        deprecated,
        function.span,
        header=function.header,
        stated=function.doc,
    )


def c_interface(interface: Interface) -> CInterface:
    """Everything that the emitted headers declare."""
    version = interface.version
    return CInterface(
        functions=tuple(c_function(function) for function in interface.functions),
        enums=tuple(
            CEnum(
                enum.name,
                tuple((value.name, value.value) for value in enum.values),
                enum_type(value.value for value in enum.values),
                enum.span,
            )
            for enum in interface.enums
        ),
        structs=tuple(
            CStruct(
                struct.name,
                False,
                struct.size,
                struct.align,
                tuple(CField(field.name, canonical_type(field.c_type), field.offset) for field in struct.fields),
                struct.span,
            )
            for struct in interface.structs
        )
        + tuple(CStruct(name, True, span=handle.span) for name, handle in opaque_structs(interface.handles).items()),
        typedefs=tuple(CTypedef(enum.name, enum.name, enum.span) for enum in interface.enums)
        + tuple(CTypedef(struct.name, struct.name, struct.span) for struct in interface.structs)
        + tuple(CTypedef(h.name, canonical_type(h.c_type), h.span) for h in interface.handles),
        macros=()
        if interface.naming != DIOPI
        else (
            ("DIOPI_ATTR_WEAK", "__attribute__ ( ( weak ) )"),
            ("DIOPI_API", "DIOPI_ATTR_WEAK"),
            ("DIOPI_RT_API", ""),
            ("DIOPI_VER_MAJOR", str(version.major)),
            ("DIOPI_VER_MINOR", str(version.minor)),
            ("DIOPI_VER_PATCH", str(version.patch)),
            ("DIOPI_VERSION", "( DIOPI_VER_MAJOR * 1000 + DIOPI_VER_MINOR * 100 + DIOPI_VER_PATCH )"),
        ),
    )


def opaque_structs(handles: Iterable[HandleType]) -> dict[str, HandleType]:
    """The structs that handles point to and that stay undefined, in order, with the first handle of each."""
    found: dict[str, HandleType] = {}
    for handle in handles:
        words = handle.c_type.replace("*", " ").split()
        if "struct" in words:
            found.setdefault(words[words.index("struct") + 1], handle)
    return found
