"""Uniform expressions of kernels over the members of a kernel's arguments (generated/entry)."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.emit.cpp_text import CPU, EQUAL, PREFIX, Printed
from diopigen.emit.host_expression import HostPrinter
from diopigen.ir.model import Parameter
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Call, to_text


class ArgumentPrinter(HostPrinter):
    """Prints expressions over the members of a kernel's arguments."""

    def __init__(self, params: Mapping[str, Parameter]) -> None:
        super().__init__(CPU, params, {})

    def name(self, name: str) -> Printed:
        """A member of the arguments; a word that is no parameter is a value of an enum."""
        param = self.params.get(name)
        if param is None:
            return super().name(name)
        if param.type == "scalar":
            return Printed(f"{number(param)}.value()", "float")
        text = f"args.{name}"
        if param.nullable and param.type in (*INTEGERS, "float", "double", "bool"):
            text = f"{text}.value_or({'false' if param.type == 'bool' else '0'})"
        if param.type in ("float", "double"):
            return Printed(f"double{{{text}}}" if param.type == "float" else text, "float")
        kind = "integer" if param.type in INTEGERS else {"bool": "bool", "string": "text"}.get(param.type, "enum")
        return Printed(text, kind)

    def call(self, expression: Call) -> Printed:
        """A function of uniform operands."""
        if expression.function != "is_null":
            return super().call(expression)
        name = to_text(expression.arguments[0])
        param = self.params[name]
        if param.type == "tensor":
            return Printed(f"args.{name}.is_null()", "bool")
        if param.type in ("generator", "opaque"):
            return Printed(f"args.{name} == nullptr", "bool", EQUAL)
        return Printed(f"!args.{name}", "bool", PREFIX)


def number(param: Parameter) -> str:
    """The number of a scalar parameter; one that is not given is 0."""
    return f"args.{param.name}.value_or(Number())" if param.nullable else f"args.{param.name}"
