"""Text about parameters and functions of the spec, for headers, skeletons and pages."""

from __future__ import annotations

from diopigen.ir.aten_model import Overload
from diopigen.ir.clauses import Elements
from diopigen.ir.model import Constraint, DtypeList, DtypeRule, Function, Latitude, Parameter, ShapeList, ShapeRule
from diopigen.ir.types import TYPES
from diopigen.spec.expression import to_text


def dtype_text(param: Parameter) -> str:
    """The dtype list or rule of a parameter: `floating`, `promote(input, other)`; empty where there is none."""
    if isinstance(param.dtype, DtypeList):
        return ", ".join(param.dtype.names)
    if isinstance(param.dtype, DtypeRule):
        return to_text(param.dtype.formula.expression)
    return ""


def shape_text(param: Parameter) -> str:
    """The shape of a parameter: `[N, C]`, `same(input)`; empty where there is none."""
    if isinstance(param.shape, ShapeList):
        return f"[{', '.join(dimension.formula.text for dimension in param.shape.dimensions)}]"
    if isinstance(param.shape, ShapeRule):
        text = to_text(param.shape.formula.expression)
        return "" if text == "any()" else text
    return ""


def default_text(param: Parameter) -> str:
    """The default as it would be written; empty where there is none."""
    if param.default is None:
        return ""
    value = param.default.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return f"'{value}'" if param.type == "string" else str(value)


def param_text(param: Parameter) -> str:
    """All that holds for a parameter, as sentences."""
    parts = [param.doc.strip()]
    if dtype_text(param):
        parts.append(f"Dtype: {dtype_text(param)}.")
    if shape_text(param):
        parts.append(f"Shape: {shape_text(param)}.")
    if param.values:
        parts.append(f"One of {', '.join(param.values)}.")
    if param.count is not None:
        parts.append(f"Length: {param.count}.")
    if param.elements is not None:
        parts.append(_elements_text(param.elements))
    if param.nullable:
        parts.append("May be null.")
    if param.free:
        words = " and ".join({"nullability": "null"}.get(word, f"another {word}") for word in param.free)
        parts.append(f"A library may accept or reject {words}.")
    if default_text(param):
        parts.append(f"Default: {default_text(param)}.")
    if param.unordered is not None:
        along = param.unordered.along
        where = to_text(param.unordered.where.expression)
        parts.append(f"In any order along {'dimension ' if isinstance(along, int) else ''}{along} where {where}.")
    if param.ties is not None:
        where, of = to_text(param.ties.where.expression), param.ties.of
        equals = f"Any of several equal elements of {of} may be selected" if of else "Equal elements may change places"
        parts.append(f"{equals}{'' if where == 'true' else f' where {where}'}.")
    if param.direction == "partial_out":
        parts.append("Only a part is written; the rest stays as it was.")
    if param.type in ("new_tensor", "new_tensors"):
        parts.append("Allocated by the operator through diopiRequireTensor.")
    return " ".join(parts)


def _elements_text(held: Elements) -> str:
    """Describes the number of elements of a buffer, its ranks, and its offset in another one."""
    text = f"{to_text(held.count.expression)} elements of {held.of}."
    if held.on is not None:
        text += f" Used where {to_text(held.on.expression)}; else it may be null."
    if held.in_place is not None:
        offset = to_text(held.in_place.offset.expression)
        start = "" if offset == "0" else f" + {offset}"
        text += f" In place where it is {held.in_place.buffer}{start}."
    return text


def latitude_text(latitude: Latitude | None) -> str:
    """Describes the latitude of a kernel; empty if there is none."""
    if latitude is None:
        return ""
    parts = (
        [f"the terms that are added up have the size {to_text(latitude.terms.expression)}"] if latitude.terms else []
    )
    parts += [f"any result where {to_text(latitude.free.expression)}"] if latitude.free else []
    where = f" (computed in {', '.join(latitude.dtypes.names)})" if isinstance(latitude.dtypes, DtypeList) else ""
    return "; ".join(parts) + where


def overload_text(overload: Overload) -> str:
    """An ATen overload with what it fixes: `upsample_bicubic2d (mode = bicubic)`."""
    values = {name: constant.value for name, constant in overload.constants.items()}
    texts = [
        f"{name} = {'null' if value is None else str(value).lower() if isinstance(value, bool) else value}"
        for name, value in values.items()
    ]
    return f"{overload.name} ({', '.join(texts)})" if texts else overload.name


def param_command(param: Parameter) -> str:
    """The Doxygen command of a parameter with its direction (`in`, `out` or `in,out`) where that is known."""
    tag = {"in": "[in]", "out": "[out]", "": ""}.get(param.direction, "[in,out]")
    return f"@param{tag} {param.name} "


def constraint_text(constraint: Constraint) -> str:
    """A constraint with its id and the status that a violation returns."""
    return f"{constraint.id}: {constraint.text.rstrip('.')} (else {constraint.error})."


def is_operator(function: Function) -> bool:
    """Returns whether a function computes on tensors (and not a service of the host or a query)."""
    return any(param.type in TYPES and TYPES[param.type].has_shape for param in function.params)
