"""Everything that the spec says, as immutable values.

A `Function` is one C function with all variants expanded; `Function.operator` and `Function.variant` say which entry
it came from. Spans point at the entry or key that a value came from, so that a rule can report the exact place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Union

from diopigen.diagnostics import Span
from diopigen.ir.aten_model import Aten, FusedOverload, Overload
from diopigen.ir.c_types import DeviceFunction, DtypeInfo, DtypeSet, EnumType, HandleType, StructType, Version
from diopigen.ir.clauses import Default, Elements, Formula, Key, OpenOrder, OpenTies
from diopigen.ir.dlinfer_model import Dlinfer
from diopigen.ir.environment_model import EnvironmentPart
from diopigen.ir.naming import DIOPI, Naming
from diopigen.ir.relax_model import Relax
from diopigen.ir.types import STRUCT_WORDS
from diopigen.spec.nodes import Node

BASE = "base"
COLLECTIVE = "collective"
"""The family of functions that processes call together."""
RANKS = ("rank", "nranks")
"""Names in expressions of such functions besides parameters: the caller's rank, and the number of ranks."""


@dataclass(frozen=True, slots=True)
class DtypeList:
    """A closed set of dtypes: `names` are the words of the spec, `dtypes` what they stand for in order."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DtypeRule:
    """A dtype that follows from other parameters."""

    formula: Formula


Dtype = Union[DtypeList, DtypeRule]


@dataclass(frozen=True, slots=True)
class Dimension:
    """An entry of a dimension list: a formula, `*name` (variadic) or `?` (known only after the call)."""

    kind: str
    """`formula`, `variadic` or `unknown`."""
    formula: Formula
    name: str = ""


@dataclass(frozen=True, slots=True)
class ShapeList:
    """A shape written out, dimension by dimension; empty for a 0-d tensor."""

    dimensions: tuple[Dimension, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """A shape that follows from other parameters."""

    formula: Formula


Shape = Union[ShapeList, ShapeRule]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function. `type` is a word of `ir.types.TYPES` or the name of an enum or handle."""

    name: str
    type: str
    direction: str
    doc: str
    span: Span
    dtype: Dtype | None = None
    shape: Shape | None = None
    nullable: bool = False
    free: tuple[str, ...] = ()
    """Respects (`nullability`, `dtype`, `shape`, `device`) in which a library may take or reject what rules exclude."""
    count: str | int | None = None
    default: Default | None = None
    example: Default | None = None
    """The number that automatic cases pass, where the default tells little; of a tensor, in the forms that pass it as a
    scalar."""
    values: tuple[str, ...] = ()
    const: bool = False
    mutable: bool = False
    pointer: bool = False
    unnamed: bool = False
    c_type: str = ""
    """The C type of an opaque parameter that is no pointer to void."""
    sparse: bool = False
    """True if it is in compressed sparse rows."""
    shares: str = ""
    """The other output that may be the same tensor; empty where it shares no memory with another one."""
    unordered: OpenOrder | None = None
    """Condition for any order of its entries."""
    ties: OpenTies | None = None
    """Condition for interchangeable equal elements."""
    keys: tuple[Key, ...] = ()
    """Conditions on its values; the constraints of the function begin with the same."""
    domain: Formula | None = None
    """Distribution of legal elements, if ordinary random numbers are unsuitable."""
    typical: Formula | None = None
    """Distribution of elements in recorded calls; None for normal numbers."""
    elements: Elements | None = None
    """Content of a buffer."""
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False)

    @property
    def is_read(self) -> bool:
        """Returns whether the operator reads what the caller put there."""
        return self.direction in ("in", "inout", "partial_out")

    @property
    def is_written(self) -> bool:
        """Returns whether the operator writes through it."""
        return self.direction != "in"

    def at(self, key: str) -> Span:
        """Position of `key` of the parameter, or of the parameter itself."""
        return self.spans.get(key, self.span)


Recipe = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Case:
    """An argument recipe; its values are checked against the parameters by `ir.recipe`."""

    arguments: Recipe
    span: Span
    key_spans: Mapping[str, Span] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """Condition on a call. A violation is answered with `error`.

    `require` is the predicate (docs/spec.md), `note` a sentence for people. `checked` says who can evaluate it: `call`,
    `kernel` where it depends on the elements of tensors, `library` where there is no predicate. `is_damaged`: the
    predicate could not be read, which is reported. `key`: the key of a parameter that it follows from, if any; its id
    is then `parameter.key` instead of a number.
    """

    id: str
    note: str
    error: str
    span: Span
    require: Formula | None = None
    checked: str = "call"
    is_damaged: bool = False
    case: Case | None = None
    untestable: str | None = None
    error_span: Span | None = None
    key: Key | None = None

    @property
    def text(self) -> str:
        """Description of the condition: the note, else the predicate itself."""
        return self.note or (self.require.text if self.require is not None else "")


@dataclass(frozen=True, slots=True)
class Kernel:
    """An elementwise operator: named intermediate values, then one expression per output."""

    lets: tuple[tuple[str, Formula], ...]
    results: tuple[tuple[str, Formula], ...]
    span: Span
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False)
    promoted: tuple[str, ...] = ()
    """The operands whose dtypes are promoted to the dtype that the kernel computes in (`promotion.promoted`)."""

    def at(self, name: str) -> Span:
        """Position of the name of an intermediate value or an output, or of the kernel itself."""
        return self.spans.get(name, self.span)


@dataclass(frozen=True, slots=True)
class Latitude:
    """Permitted deviations of established elementwise kernels from the expression. `terms` is the size of the terms
    that they add up, `free` says where any result is accepted: expressions over the operands. It is about computations
    in one of `dtypes`; None for all."""

    terms: Formula | None
    free: Formula | None
    dtypes: Dtype | None
    span: Span


@dataclass(frozen=True, slots=True)
class Function:
    """One C function of the interface."""

    name: str
    doc: str
    operator: str
    variant: str
    family: str
    header: str
    params: tuple[Parameter, ...]
    span: Span
    kernel: Kernel | None = None
    by_hand: str = ""
    """Why libraries have a handwritten kernel although there is an expression; empty where they have none."""
    constraints: tuple[Constraint, ...] = ()
    cases: tuple[Case, ...] = ()
    aten: tuple[Overload, ...] = ()
    backward_of: str | None = None
    fused: tuple[FusedOverload, ...] = ()
    """Forms in which compiled graphs fuse it over the last dimensions."""
    functional: str = ""
    """The function of torch.nn.functional that computes the same; empty where there is none."""
    planned: bool = False
    """True if a rule of the planner of compiled graphs calls it."""
    tolerance: str | None = None
    starter: str = ""
    """Why a new vendor starts with it; empty where none does."""
    unspecified: tuple[str, ...] = ()
    """Unspecified results: keys of `UNSPECIFIED` of the grammar."""
    latitude: Latitude | None = None
    work: tuple[tuple[str, Formula], ...] = ()
    """Lower bounds of the work of a call: `operations`, and by parameter the elements that must be read or written."""
    since: str = "1.0"
    deprecated: str | None = None
    weak: bool = True
    returns: str = "status"
    """`status`, `string` or a C type."""
    context: bool = True
    irregular_order: str | None = None
    draft: bool = False
    """True if directions, dtypes and shapes may be open: what needs them leaves the function out."""
    source: str | None = None
    naming: Naming = DIOPI
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False)

    def param(self, name: str) -> Parameter | None:
        """The parameter of that name, or None."""
        return next((param for param in self.params if param.name == name), None)

    def at(self, key: str) -> Span:
        """Position of `key` of the entry, or of the entry itself."""
        return self.spans.get(key, self.span)

    @property
    def is_collective(self) -> bool:
        """Returns whether it belongs to the communication between processes, which has a suite of its own."""
        return self.family == COLLECTIVE

    @property
    def short_name(self) -> str:
        """The name without the prefix of the interface."""
        return self.naming.short(self.name)

    @property
    def is_foreign(self) -> bool:
        """Returns whether it is a C function beyond what DIOPI has: declarations alone can be generated for it."""
        is_ours = self.naming == DIOPI and self.returns in ("status", "string")
        return not is_ours or any(param.c_type for param in self.params)


@dataclass(frozen=True, slots=True)
class Header:
    """A header and its functions in order."""

    file: str
    doc: str
    includes: tuple[str, ...]
    order: tuple[tuple[str, Span], ...]
    functions: tuple[Function, ...]
    span: Span
    include_spans: tuple[Span, ...] = field(default=(), compare=False)
    not_covered: str | None = None
    """Why the suite and the reference libraries may leave out its functions; None where they may not."""


@dataclass(frozen=True)
class Interface:
    """The whole spec."""

    version: Version
    types_header: str
    enums: tuple[EnumType, ...]
    structs: tuple[StructType, ...]
    handles: tuple[HandleType, ...]
    dtypes: tuple[DtypeInfo, ...]
    dtype_sets: tuple[DtypeSet, ...]
    headers: tuple[Header, ...]
    device_functions: tuple[DeviceFunction, ...]
    aten: Aten = field(default_factory=Aten)
    relax: Relax = field(default_factory=Relax)
    dlinfer: Dlinfer = field(default_factory=Dlinfer)
    environment: tuple[EnvironmentPart, ...] = ()
    files: tuple[str, ...] = ()
    """Every spec file that was read, in order: the inputs of whatever is generated."""
    file_of: Mapping[str, str] = field(default_factory=dict)
    """The spec file of each function."""
    family_docs: Mapping[str, str] = field(default_factory=dict)
    naming: Naming = DIOPI

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions, header by header, in order."""
        return tuple(function for header in self.headers for function in header.functions)

    @cached_property
    def backward_functions(self) -> Mapping[str, Sequence[Function]]:
        """The functions that compute gradients of an operator, by its name."""
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            if function.backward_of is not None:
                found.setdefault(function.backward_of, []).append(function)
        return found

    @cached_property
    def _by_operator(self) -> Mapping[str, Sequence[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            found.setdefault(function.operator, []).append(function)
        return found

    def functions_of(self, operator: str) -> Sequence[Function]:
        """All variants of an operator, in order."""
        return self._by_operator.get(operator, ())

    @cached_property
    def functions_of_overloads(self) -> Mapping[str, Function]:
        """The first function that names an overload of ATen, by its name."""
        return {overload.name: function for function in reversed(self.functions) for overload in function.aten}

    @cached_property
    def _by_name(self) -> Mapping[str, Function]:
        return {function.name: function for function in reversed(self.functions)}

    @property
    def named_types(self) -> Mapping[str, str]:
        """Enums, handles and structs with their docs: types of parameters in addition to the words of `ir.types`."""
        found = {enum.name: enum.doc for enum in self.enums} | {handle.name: handle.doc for handle in self.handles}
        return found | {struct.name: struct.doc for struct in self.structs if struct.name not in STRUCT_WORDS}

    @property
    def not_covered(self) -> Mapping[str, str]:
        """The headers whose functions suite and reference libraries may leave out, each with the reason."""
        return {header.file: header.not_covered for header in self.headers if header.not_covered}

    def settled(self) -> Interface:
        """The interface without its drafts and without foreign functions."""
        if not any(function.draft or function.is_foreign for function in self.functions):
            return self
        headers = (
            replace(header, functions=tuple(one for one in header.functions if not (one.draft or one.is_foreign)))
            for header in self.headers
        )
        return replace(self, headers=tuple(headers))

    def function(self, name: str) -> Function | None:
        """The function of that C name, or None."""
        return self._by_name.get(name)

    def enum(self, name: str) -> EnumType | None:
        """The enum of that name, or None."""
        return next((enum for enum in self.enums if enum.name == name), None)
