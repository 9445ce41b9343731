"""Python interface of an operator: the parameters of its method, its docstring, and the typed stub of all of them."""

from __future__ import annotations

from keyword import iskeyword

from diopigen.emit.entry.functions import kernel_name
from diopigen.emit.escaping import python_string
from diopigen.emit.prose import constraint_text, param_text
from diopigen.emit.tvm_ffi.arguments import is_choice, is_destination, passed, returned
from diopigen.emit.wrapping import wrapped
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.types import INTEGERS, NUMBERS

_COLUMNS = 118
_NUMBERS = {"float": "float", "double": "float", "scalar": "float", "bool": "bool", "string": "str",
            "sizes": "Sequence[int]"}  # fmt: skip
_MOST_ON_A_LINE = 110


def argument_name(param: Parameter) -> str:
    """The name of an argument in Python: words of the language, and `self`, get an underscore."""
    return f"{param.name}_" if iskeyword(param.name) or param.name == "self" else param.name


def is_length(function: Function, param: Parameter) -> bool:
    """Returns whether it is the length of a list, which follows from the list."""
    return any(other.count == param.name for other in function.params)


def method_parameters(function: Function) -> tuple[Parameter, ...]:
    """The parameters that may be passed by position, in the order of the C function: what the operator reads, without
    the lengths of lists."""
    return tuple(
        param
        for param in passed(function)
        if not is_destination(param) and not is_choice(param) and not is_length(function, param)
    )


def _is_optional(param: Parameter) -> bool:
    return param.default is not None or param.nullable or param.type in ("generator", "generators", "opaque")


def _type(param: Parameter, interface: Interface, tensor: str) -> str:
    if param.type == "tensor":
        found = tensor
    elif param.type == "tensors":
        found = f"Sequence[{tensor} | None]" if param.direction == "in" else f"Sequence[{tensor}]"
    elif param.type == "generator":
        found = "Generator"
    elif param.type == "generators":
        found = "Sequence[Generator]"
    elif param.type in _NUMBERS:
        found = _NUMBERS[param.type]
    elif param.type in INTEGERS or param.type in NUMBERS:
        found = "int"
    elif (enum := interface.enum(param.type)) is not None:
        found = f"Literal[{', '.join(repr(value.name) for value in enum.values)}]".replace("'", '"')
    else:
        found = "object"
    return f"{found} | None" if param.nullable or param.type in ("generator", "generators", "opaque") else found


def _default(param: Parameter) -> str:
    value = None if param.default is None else param.default.value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if isinstance(value, str):
        return python_string(value)
    return repr(value)


def _result_type(param: Parameter) -> str:
    several = param.type in ("tensors", "new_tensors")
    if param.type in ("tensor", "new_tensor") or several:
        return "list[T]" if several else "T"
    return "bool" if param.type == "bool" else "float" if param.type in ("float", "double") else "int"


def results(function: Function) -> tuple[Parameter, ...]:
    """Return type of the method, in the order of the C function."""
    names = {param.name for param in returned(function)}
    return tuple(param for param in function.params if is_destination(param) or param.name in names)


def doc_text(function: Function, interface: Interface) -> str:
    """The docstring of a method."""
    lines = wrapped(function.doc.strip() or f"The operator {function.name}.", _COLUMNS - 8)
    listed = [param for param in function.params if not is_length(function, param)]
    if listed:
        lines.append("")
    for param in listed:
        role = " (result)" if is_destination(param) or param in returned(function) else ""
        text = f"{argument_name(param)}{role}: {param_text(param)}".rstrip()
        lines += wrapped(text, _COLUMNS - 8, rest="    ")
    if function.constraints:
        lines.append("")
    for constraint in function.constraints:
        lines += wrapped(constraint_text(constraint), _COLUMNS - 8, rest="    ")
    del interface
    return "\n".join(lines)


def method_text(function: Function, interface: Interface) -> str:
    """The stub of a method."""
    positional = list(method_parameters(function))
    last_required = max((k for k, param in enumerate(positional) if not _is_optional(param)), default=-1)
    first = next((param.name for param in positional if param.type in ("tensor", "tensors")), "")
    items = ["self"]
    for index, param in enumerate(positional):
        text = f"{argument_name(param)}: {_type(param, interface, 'T' if param.name == first else 'Tensor')}"
        items.append(text if index <= last_required else f"{text} = {_default(param)}")
    own = [param for param in results(function) if is_destination(param)]
    keywords = []
    for param in function.params:
        if is_choice(param):
            keywords.append(f"{argument_name(param)}: bool = True")
        elif param in own:
            listed = "Sequence[T]" if param.type == "tensors" else "T"
            keywords.append(f"{argument_name(param)}: {listed} | None = None")
        elif is_length(function, param):
            keywords.append(f"{argument_name(param)}: int | None = None")
    if keywords:
        items += ["*", *keywords]
    types = [_result_type(param) + (" | None" if param.nullable else "") for param in results(function)]
    uses_type = any(item.split(": ")[-1].startswith(("T", "Sequence[T")) for item in items[1:])
    returns = "None" if not types else types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"
    if not uses_type:
        returns = returns.replace("T", "Any") if "T" in returns.replace("Tensor", "") else returns
    name = kernel_name(function)
    name = f"{name}_" if iskeyword(name) else name
    line = f"    def {name}({', '.join(items)}) -> {returns}:"
    if len(line) <= _MOST_ON_A_LINE:
        lines = [line]
    else:
        lines = [f"    def {name}(", *(f"        {item}," for item in items), f"    ) -> {returns}:"]
    doc = doc_text(function, interface).replace("\\", "\\\\").replace('"""', "'''").splitlines()
    lines.append(f'        """{doc[0]}')
    lines += [f"        {text}".rstrip() for text in doc[1:]]
    lines.append('        """')
    return "\n".join(lines)
