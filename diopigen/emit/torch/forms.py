"""Forms of an operator of PyTorch: one is implemented, and the others are derived.

An implementation has the signature of the overload that `torch.yaml` names. Overloads of the same operator that take
the same arguments are other forms of it; those that a new device needs are derived:

- from a form that writes to given tensors (`out=`): the one that makes its results, by handing over undefined tensors,
  which the implementation makes; and the one in place, whose output is its input;
- from a form that makes its results: the one that writes to given tensors and the one in place, by copying the results.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.torch.schema import cpp_type, schema_of, signature
from diopigen.ir.aten import AtenArgument, AtenSchema
from diopigen.ir.aten_model import HandwrittenKernel
from diopigen.ir.model import Interface

_INDENT = "    "
_Key = tuple[str, tuple[tuple[str, str, bool, bool], ...]]


@dataclass(frozen=True, slots=True)
class Family:
    """Overloads that differ only in where the results go."""

    functional: str | None = None
    inplace: str | None = None
    out: str | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The overloads that there are."""
        return tuple(name for name in (self.functional, self.inplace, self.out) if name is not None)


@dataclass(frozen=True, slots=True)
class Forms:
    """A C++ function that implements an overload, and the other forms that it serves."""

    schema: AtenSchema
    function: str
    derived: tuple[AtenSchema, ...]

    @property
    def overloads(self) -> tuple[str, ...]:
        """All overloads that it serves, its own first."""
        return (self.schema.name, *(schema.name for schema in self.derived))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A handwritten kernel with all the overloads that it serves."""

    entry: HandwrittenKernel
    name: str
    """Name of the C++ function in diopigen::backend::kernels."""
    forms: Forms


def _packet(overload: str) -> str:
    """The operator that an overload belongs to: `add` of `add_.Tensor`, `__lshift__` of `__ilshift__.Scalar`."""
    base = overload.partition(".")[0]
    if base.startswith("__") and base.endswith("__"):
        return f"__{base[2:].removeprefix('i')}"
    return base.removesuffix("_")


def taken_by(schema: AtenSchema) -> list[AtenArgument]:
    """Inputs of an overload, without its outputs."""
    return [argument for argument in schema.arguments if not (argument.written and argument.keyword_only)]


def _key(schema: AtenSchema) -> _Key:
    return _packet(schema.name), tuple((a.name, a.type, a.is_list, a.optional) for a in taken_by(schema))


def is_inplace(schema: AtenSchema) -> bool:
    return schema.name.partition(".")[0] != _packet(schema.name)


def families(interface: Interface) -> Mapping[str, Family]:
    """The family of each overload of the release."""
    forms: dict[_Key, dict[str, str]] = {}
    keys = {}
    for overload in interface.aten.schemas:
        schema = schema_of(interface, overload)
        assert schema is not None
        form = "out" if schema.is_out else "inplace" if is_inplace(schema) else "functional"
        keys[overload] = _key(schema)
        forms.setdefault(keys[overload], {}).setdefault(form, overload)
    return {overload: Family(**forms[key]) for overload, key in keys.items()}


def default_name(overload: str, family: Family) -> str:
    """Default name of the C++ function of an overload, unless `torch.yaml` sets one: its name in lower case. An
    overload that writes to given tensors goes by the name of the one that makes them."""
    is_out = family.out == overload and family.functional is not None
    base, _, name = (family.functional if is_out and family.functional else overload).partition(".")
    inplace = "_inplace" if family.inplace == overload and not base.startswith("__") else ""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", f"{base}{inplace}_{name}").lower().split("_")
    return "_".join(word for word in words if word)


def kernels_of(interface: Interface, known: Mapping[str, Family]) -> list[Kernel]:
    """The handwritten kernels with the forms that are derived from them. `known` has the family of each overload."""
    structured = {group.out for group in interface.aten.structured}
    named = {entry.overload for entry in interface.aten.handwritten}
    named |= {overload for entry in interface.aten.handwritten for overload in entry.also}
    kernels = []
    for entry in interface.aten.handwritten:
        family = known[entry.overload]
        others = [] if entry.overload in structured else [o for o in family.members if o in interface.aten.needed]
        selected = [o for o in others if o not in named] + list(entry.also)
        schemas = [schema_of(interface, overload) for overload in selected]
        own = schema_of(interface, entry.overload)
        assert own is not None
        derived = () if is_inplace(own) else tuple(schema for schema in schemas if schema is not None)
        name = entry.function or default_name(entry.overload, family)
        kernels.append(Kernel(entry, name, Forms(own, f"kernels::{name}", derived)))
    return kernels


def wrapper_name(schema: AtenSchema) -> str:
    """Name of the derived kernel of an overload."""
    return schema.name.replace(".", "_")


def _statement(head: str, items: Sequence[str], tail: str) -> list[str]:
    return [_INDENT + line for line in call_lines(head, items, tail, COLUMNS - len(_INDENT)).split("\n")]


def _assignment(name: str, head: str, items: Sequence[str]) -> list[str]:
    """`name = head(items);`, with a break behind the sign where the call fits on one line then as clang-format does."""
    call = f"{head}({', '.join(items)});"
    if len(_INDENT) + len(f"{name} = {call}") > COLUMNS >= 2 * len(_INDENT) + len(call):
        return [f"{_INDENT}{name} =", f"{_INDENT * 2}{call}"]
    return _statement(f"{name} = {head}", items, ";")


def _passed_to(head: str, call: str, items: Sequence[str]) -> list[str]:
    """`return head, call(items));`, with a break behind the first parenthesis where the rest fits on one line then."""
    rest = f"{head.partition('(')[2]}, {call}({', '.join(items)}));"
    if len(f"{_INDENT}return {head.partition('(')[0]}({rest}") > COLUMNS >= 2 * len(_INDENT) + len(rest):
        return [f"{_INDENT}return {head.partition('(')[0]}(", f"{_INDENT * 2}{rest}"]
    return _statement(f"return {head}, {call}", items, ");")


def written_by(schema: AtenSchema) -> list[str]:
    return [argument.name for argument in schema.arguments if argument.written and argument.keyword_only]


def _returned(names: Sequence[str], is_new: bool) -> str:
    if len(names) == 1:
        return names[0]
    return f"{{{', '.join(f'std::move({name})' if is_new else name for name in names)}}}"


def _from_out(forms: Forms, schema: AtenSchema) -> list[str]:
    """The body of a form derived from one that writes to given tensors."""
    outs = written_by(forms.schema)
    provided = [argument.name for argument in taken_by(schema)]
    head = forms.function
    if is_inplace(schema):
        return [*_statement(head, [*provided, "self"], ";"), f"{_INDENT}return self;"]
    if schema.is_out:
        own = written_by(schema)
        return [*_statement(head, [*provided, *own], ";"), f"{_INDENT}return {_returned(own, False)};"]
    lines = [f"{_INDENT}at::Tensor {name};" for name in outs]
    return [*lines, *_statement(head, [*provided, *outs], ";"), f"{_INDENT}return {_returned(outs, True)};"]


def _from_functional(forms: Forms, schema: AtenSchema) -> list[str]:
    """The body of a form derived from one that makes its results."""
    provided = [argument.name for argument in taken_by(schema)]
    call = forms.function
    if is_inplace(schema):
        return _passed_to("give_inplace(self", call, provided)
    outs = written_by(schema)
    if len(outs) == 1:
        return _passed_to(f"give({outs[0]}", call, provided)
    lines = _assignment("const auto results", call, provided)
    lines += [f"{_INDENT}give({name}, std::get<{number}>(results));" for number, name in enumerate(outs)]
    return [*lines, f"{_INDENT}return {_returned(outs, False)};"]


def derived_text(forms: Forms, schema: AtenSchema) -> str:
    """The C++ function of a derived form."""
    own = signature(schema)
    body = _from_out(forms, schema) if forms.schema.is_out else _from_functional(forms, schema)
    head = f"{own.result} {wrapper_name(schema)}"
    text = call_lines(head, own.texts, " {")
    if len(body) == 1 and len(f"{text} {body[0].strip()} }}") <= COLUMNS:
        return f"{text} {body[0].strip()} }}"
    return "\n".join([text, *body, "}"])


def takes(schema: AtenSchema) -> tuple[str, ...]:
    """The C++ types of what an overload takes, which the forms of one kernel share."""
    return tuple(cpp_type(dataclasses.replace(argument, written=False)) for argument in taken_by(schema))
