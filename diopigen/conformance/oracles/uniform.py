"""Kernel expressions: the dtype that they compute in, and their parts that depend on no element.

- Operands whose dtypes are promoted (`Kernel.promoted`) give the compute dtype; integral ones compute as float32 where
  the expression divides, or takes a floating parameter or function. All tensors are cast to it and then widened
  (`dtypes.widest`). Scalars are cast to it as well, or to float32 where it is half precision and they are not promoted;
  a `double` of the C interface stays what it is.
- What depends on no element is computed once, in long double, and only the branch that it selects is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diopigen.conformance.oracles.call import Call
from diopigen.conformance.oracles.kernel_functions import COMPARISONS, FLOATING, FUNCTIONS, OPERATORS
from diopigen.contract.dtypes import category, kind
from diopigen.ir.clauses import Formula
from diopigen.ir.kernels import CONSTANTS
from diopigen.spec import expression as spec
from diopigen.spec.expression import Expression, Name


class Uniform:
    """One output of a call. `compute` is the dtype that the operator computes it in."""

    def __init__(self, call: Call, target: str, lets: Mapping[str, Formula], result: Expression) -> None:
        self.call, self.target = call, target
        self.lets = {name: formula.expression for name, formula in lets.items()}
        self.params = {param.name: param for param in call.function.params}
        kernel = call.function.kernel
        assert kernel is not None
        promoted = [name for name in kernel.promoted if call.has(name)]
        self.promoted = frozenset(promoted)
        if promoted:
            self.compute = call.promoted(*promoted)
        elif any(isinstance(part, spec.Call) and part.function.endswith("index") for part in spec.walk(result)):
            whole = all(kind(call.dtype(name)) != "float" for name in self._scalars(result))
            self.compute = "int64" if whole else "float64"
        else:
            self.compute = call.dtype(target)
        if category(self.compute) < 2 and self.floats(result):
            self.compute = "float64" if self.compute == "int64" and not promoted else "float32"

    def _scalars(self, expression: Expression) -> list[str]:
        names = [part.name for part in spec.walk(expression) if isinstance(part, Name)]
        return [name for name in names if name in self.params and self.params[name].type == "scalar"]

    def is_array(self, name: str) -> bool:
        """Returns whether a name is a tensor that is there."""
        return name in self.params and isinstance(self.call.values.get(name), np.ndarray)

    def is_uniform(self, expression: Expression) -> bool:
        """Returns whether no element and no coordinate takes part."""
        if isinstance(expression, Name):
            if expression.name in self.lets:
                return self.is_uniform(self.lets[expression.name])
            return not self.is_array(expression.name)
        if isinstance(expression, spec.Unary):
            return self.is_uniform(expression.operand)
        if isinstance(expression, spec.Binary):
            return self.is_uniform(expression.left) and self.is_uniform(expression.right)
        if isinstance(expression, spec.Call):
            if expression.function == "where" and self.is_uniform(expression.arguments[0]):
                return self.is_uniform(self.selected(expression))
            if expression.function == "is_null":
                return True
            return not expression.function.endswith("index") and all(map(self.is_uniform, expression.arguments))
        return True

    def selected(self, expression: spec.Call) -> Expression:
        """The branch of a `where` whose condition depends on no element."""
        condition, first, second = expression.arguments
        return first if bool(self.number(condition)) else second

    def number(self, expression: Expression) -> Any:
        """The value of a uniform part: a Python int, bool, text, None, or a long double."""
        if isinstance(expression, spec.Number):
            return expression.value if isinstance(expression.value, int) else np.longdouble(repr(expression.value))
        if isinstance(expression, spec.Text):
            return expression.value
        if isinstance(expression, Name):
            return self._named(expression.name)
        if isinstance(expression, spec.Unary):
            operand = self.number(expression.operand)
            return not operand if expression.operator == "not" else -operand if expression.operator == "-" else ~operand
        if isinstance(expression, spec.Binary):
            left, operator = self.number(expression.left), expression.operator
            if operator in ("and", "or"):
                return bool(self.number(expression.right)) if bool(left) == (operator == "and") else bool(left)
            right = self.number(expression.right)
            if isinstance(left, str) or isinstance(right, str):
                return (left == right) == (operator == "==")
            if operator == "/":
                return np.longdouble(left) / np.longdouble(right)
            return OPERATORS[operator](np.asarray(left), np.asarray(right))[()]
        if expression.function == "where":
            return self.number(self.selected(expression))
        if expression.function == "is_null":
            name = expression.arguments[0]
            return isinstance(name, Name) and not self.call.has(name.name)
        arguments = [np.asarray(self.number(argument), np.longdouble) for argument in expression.arguments]
        return FUNCTIONS[expression.function](*arguments)[()]

    def _named(self, name: str) -> Any:
        if name in self.lets:
            return self.number(self.lets[name])
        if name in self.params:
            value = self.call.values.get(name)
            return np.longdouble(value) if isinstance(value, float) else value
        if name == "pi":
            return 4 * np.arctan(np.longdouble(1))
        return CONSTANTS.get(name, name)

    def floats(self, expression: Expression) -> bool:
        """Returns whether a part makes floats of integral operands."""
        if isinstance(expression, spec.Number):
            return isinstance(expression.value, float)
        if isinstance(expression, Name):
            if expression.name in self.lets:
                return self.floats(self.lets[expression.name])
            return expression.name in self.params and self.params[expression.name].type in ("float", "double")
        if isinstance(expression, spec.Unary):
            return expression.operator != "not" and self.floats(expression.operand)
        if isinstance(expression, spec.Binary):
            if expression.operator in COMPARISONS or expression.operator in ("and", "or"):
                return False
            return expression.operator == "/" or self.floats(expression.left) or self.floats(expression.right)
        if not isinstance(expression, spec.Call) or expression.function in ("is_null", "index", "linear_index"):
            return False
        if expression.function == "where":
            if self.is_uniform(expression.arguments[0]):
                return self.floats(self.selected(expression))
            return any(map(self.floats, expression.arguments[1:]))
        return expression.function in FLOATING or any(map(self.floats, expression.arguments))
