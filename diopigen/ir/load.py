"""A folder of spec files to an `Interface`.

Nothing is executed and nothing outside the folder is read. All findings go to the sink; what is broken is left
out, so that one run shows as many findings as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeVar, cast

from diopigen.diagnostics import Sink, Span, failure
from diopigen.ir.c_types import (
    DeviceFunction,
    DeviceParameter,
    DtypeInfo,
    DtypeSet,
    EnumType,
    EnumValue,
    HandleType,
    StructField,
    StructType,
    Version,
)
from diopigen.ir.dlinfer import lower_dlinfer
from diopigen.ir.dlinfer_model import Dlinfer
from diopigen.ir.environment import lower_environment
from diopigen.ir.load_aten import load_aten, names_of_snapshots
from diopigen.ir.lower import Lowering, flag_of, items_of, mappings_of, optional_text, text_of
from diopigen.ir.model import Function, Header, Interface
from diopigen.ir.naming import DIOPI, Naming
from diopigen.ir.parts import Parts, key_of_files
from diopigen.ir.relax import lower_relax
from diopigen.ir.relax_model import Relax
from diopigen.ir.variants import Section, expand
from diopigen.package import package_data
from diopigen.spec.folder import entries_below
from diopigen.spec.grammar import FILES
from diopigen.spec.grammar_operators import FOREIGN_OPERATOR, OPERATOR, OPERATORS_FILE
from diopigen.spec.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import AnyShape, Field, ListShape, RecordShape, validate
from diopigen.spec.yaml_reader import load_yaml

CANONICAL = "specs"
"""Name of the spec's folder in generated files, whatever its path."""
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The interface as far as it could be built; `complete` where no entry had to be left out."""

    interface: Interface
    complete: bool


@dataclass(slots=True)
class _State:
    root: Path
    display: str
    sink: Sink
    parts: Parts | None = None
    files: list[str] = field(default_factory=list)
    complete: bool = True
    naming: Naming = DIOPI

    def read(self, relative: str, kind: str) -> MappingNode | None:
        """The validated root of a file, or None (reported)."""
        name = f"{self.display}/{relative}"
        self.files.append(f"{CANONICAL}/{relative}")
        node = load_yaml(self.root / relative, name, self.sink)
        if node is None or not validate(node, FILES[kind], f"the {kind} file", self.sink):
            self.complete = False
            return None
        return node if isinstance(node, MappingNode) else None

    def nodes(self, relative: str, kind: str) -> MappingNode | None:
        """As `read`; None also where there is no such file."""
        if not (self.root / relative).exists():
            return None
        return self.part([relative], partial(self.read, relative, kind))

    def part(self, relatives: Sequence[str], work: Callable[[], _Value]) -> _Value:
        """The result of `work` on these files and types.yaml, from the parts where it is known. It is stored without
        findings only, and if no file changed meanwhile."""
        key = key_of_files(self.root, relatives, self.display)
        if self.parts is None or key is None:
            return work()
        known = self.parts.get(key)
        if known is not None:
            value, files = cast("tuple[_Value, Sequence[str]]", known)
            self.files += files
            return value
        before, first = self.sink.reported, len(self.files)
        value = work()
        if self.sink.reported == before and key_of_files(self.root, relatives, self.display) == key:
            self.parts.put(key, (value, self.files[first:]))
        return value


def _number(node: Node | None) -> int:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else 0


def load_interface(root: Path, sink: Sink, display: str | None = None, parts: Parts | None = None) -> Loaded:
    """The interface in the folder `root`; `display` stands for the folder in spans. Files that are as they were come
    from `parts`.

    Raises `Failure` where the folder does not exist or holds no `types.yaml`.
    """
    shown = display if display is not None else root.name
    if not root.is_dir():
        raise failure("spec-missing", f"{shown} is not a folder", Span(shown), "name the folder that holds types.yaml")
    if not (root / "types.yaml").exists():
        raise failure(
            "spec-missing", f"{shown} holds no types.yaml", Span(shown), "name the folder that holds types.yaml"
        )
    state = _State(root, shown, sink, parts)
    types = state.nodes("types.yaml", "types")
    headers = state.part(["headers.yaml"], partial(state.read, "headers.yaml", "headers"))
    if types is None or headers is None:
        return Loaded(_empty(state), False)
    state.naming = _naming(types)
    dtypes, sets = _dtypes(types, sink)
    lowering = Lowering([d.name for d in dtypes], {s.name: s.dtypes for s in sets}, sink)
    functions: list[Function] = []
    file_of: dict[str, str] = {}
    family_docs: dict[str, str] = {}
    runtime = state.nodes("runtime.yaml", "runtime")
    if runtime is not None:
        functions += _add(_collect(runtime, state, lowering), state.files[-1], file_of, family_docs)
    for relative in _operator_files(state):
        found = state.part([relative], partial(_operators, state, relative, lowering))
        functions += _add(found, state.files[-1], file_of, family_docs)
    about_torch = [*names_of_snapshots(root), *(["torch.yaml"] if (root / "torch.yaml").exists() else [])]
    aten = state.part(about_torch, partial(load_aten, root, state.read, sink))
    relax = state.nodes("relax.yaml", "relax")
    dlinfer = state.nodes("dlinfer.yaml", "dlinfer")
    environment = state.nodes("environment.yaml", "environment")
    interface = Interface(
        version=_version(types),
        types_header=text_of(types.get("header")),
        enums=tuple(_enum(node) for node in mappings_of(types.get("enums"))),
        structs=tuple(_struct(node) for node in mappings_of(types.get("structs"))),
        handles=tuple(_handle(node) for node in mappings_of(types.get("handles"))),
        dtypes=dtypes,
        dtype_sets=sets,
        headers=tuple(_header(node, functions) for node in mappings_of(headers.get("headers"))),
        device_functions=tuple(
            _device_function(node) for node in mappings_of(runtime.get("device_functions") if runtime else None)
        ),
        aten=aten,
        relax=Relax() if relax is None else lower_relax(relax),
        dlinfer=Dlinfer() if dlinfer is None else lower_dlinfer(dlinfer),
        environment=() if environment is None else lower_environment(environment),
        files=tuple(state.files),
        file_of=file_of,
        family_docs=family_docs,
        naming=state.naming,
    )
    listed = {header.file for header in interface.headers}
    for function in functions:
        if function.header not in listed:
            message = f"header '{function.header}' of {function.name} is not in headers.yaml"
            sink.error("unknown-header", message, function.span, fix="add the header to headers.yaml")
            state.complete = False
    return Loaded(interface, state.complete)


def _operator_files(state: _State) -> list[str]:
    """The YAML files below `ops`, by name; whatever else is called so (a folder, a pipe, a link to nothing) is
    reported when it is read."""
    ops = state.root / "ops"
    try:
        names = [found.name for found in entries_below(ops)] if ops.is_dir() else []
    except OSError as error:
        section = Path(error.filename).relative_to(state.root).as_posix()
        message = f"cannot be listed: {error.strerror}"
        state.sink.error("file-unreadable", message, Span(f"{state.display}/{section}"), fix="check its permissions")
        state.complete = False
        return []
    return [f"ops/{name}" for name in names if name.endswith(".yaml")]


_FRAME = RecordShape(
    "operators file",
    {**OPERATORS_FILE.fields, "operators": Field(ListShape(AnyShape()), "the operators", required=True)},
)


def _read_operators(state: _State, relative: str) -> MappingNode | None:
    """A file of operators; an entry with errors is left out and the others stay."""
    name = f"{state.display}/{relative}"
    state.files.append(f"{CANONICAL}/{relative}")
    node = load_yaml(state.root / relative, name, state.sink)
    if node is None or not validate(node, _FRAME, "the ops file", state.sink) or not isinstance(node, MappingNode):
        state.complete = False
        return None
    retained = []
    shape = OPERATOR if state.naming.prefix == DIOPI.prefix else FOREIGN_OPERATOR
    for item in items_of(node.get("operators")):
        known = text_of(item.get("name")) if isinstance(item, MappingNode) else ""
        if validate(item, shape, f"operator {known}" if known else "an operator", state.sink):
            retained.append(item)
        else:
            state.complete = False
    old = node.entries["operators"]
    if isinstance(old.value, SequenceNode) and len(retained) < len(old.value.items):
        return node.with_entries(
            {**node.entries, "operators": Entry(old.key, old.key_node, old.value.with_items(tuple(retained)))}
        )
    return node


@dataclass(frozen=True, slots=True)
class _Operators:
    """The functions of a file, and what the file says of their family."""

    functions: tuple[Function, ...] = ()
    family: str = ""
    doc: str | None = None


def _operators(state: _State, relative: str, lowering: Lowering) -> _Operators:
    node = _read_operators(state, relative)
    return _Operators() if node is None else _collect(node, state, lowering)


def _collect(node: MappingNode, state: _State, lowering: Lowering) -> _Operators:
    """The functions of a file, but those that had to be left out."""
    section = Section(text_of(node.get("family")), text_of(node.get("header")), state.naming)
    functions: list[Function] = []
    for operator in mappings_of(node.get("operators")):
        expanded = expand(operator, section, lowering, state.sink)
        state.complete &= len(expanded) == 1 + len(items_of(operator.get("variants")))
        functions += expanded
    return _Operators(tuple(functions), section.family, optional_text(node.get("doc")))


def _add(found: _Operators, file: str, file_of: dict[str, str], family_docs: dict[str, str]) -> tuple[Function, ...]:
    """The functions of a file, entered in the tables."""
    if found.doc is not None:
        family_docs.setdefault(found.family, found.doc)
    for function in found.functions:
        file_of.setdefault(function.name, file)
    return found.functions


def _empty(state: _State) -> Interface:
    return Interface(Version(0, 0, 0), "", (), (), (), (), (), (), (), files=tuple(state.files))


def _span(node: MappingNode) -> Span:
    """Position of the name of an entry."""
    return (node.get("name") or node).span


def _version(types: MappingNode) -> Version:
    node = types.get("version")
    assert isinstance(node, MappingNode)
    return Version(_number(node.get("major")), _number(node.get("minor")), _number(node.get("patch")))


def _naming(types: MappingNode) -> Naming:
    return replace(
        DIOPI, **{key: text_of(types.get(key)) for key in ("prefix", "status") if types.get(key) is not None}
    )


def _dtypes(types: MappingNode, sink: Sink) -> tuple[tuple[DtypeInfo, ...], tuple[DtypeSet, ...]]:
    dtypes = tuple(_dtype(node) for node in mappings_of(types.get("dtypes")))
    known: dict[str, tuple[str, ...]] = {info.name: (info.name,) for info in dtypes}
    order = list(known)
    sets: list[DtypeSet] = []
    for node in mappings_of(types.get("dtype_sets")):
        found: set[str] = set()
        for item in items_of(node.get("of")):
            if text_of(item) in known:
                found.update(known[text_of(item)])
            else:
                fix = "name a dtype, or a set that comes before this one"
                sink.error("unknown-dtype", f"unknown dtype '{text_of(item)}'", item.span, fix=fix)
        name = text_of(node.get("name"))
        known[name] = tuple(sorted(found, key=order.index))
        sets.append(DtypeSet(name, text_of(node.get("doc")), known[name], _span(node)))
    return dtypes, tuple(sets)


def _dtype(node: MappingNode) -> DtypeInfo:
    def text(key: str) -> str:
        value = node.get(key)
        return "" if value is None else text_of(value)

    return DtypeInfo(
        text("name"),
        text("enum"),
        _number(node.get("bytes")),
        text("kind"),
        _span(node),
        (node.get("enum") or node).span,
        digits=_number(node.get("digits")),
        exponent=_number(node.get("exponent")),
        largest=_number(node.get("largest")),
        compute=text("compute") or text("name"),
        real=text("real"),
        complex=text("complex"),
        c=text("c"),
        numpy=text("numpy"),
        aten=text("aten"),
        dlpack=_number(node.get("dlpack")),
    )


@cache
def known_dtypes() -> Mapping[str, DtypeInfo]:
    """The dtypes of the spec that the package brings along, by name."""
    types = load_yaml(package_data("specs") / "types.yaml", f"{CANONICAL}/types.yaml", Sink())
    assert isinstance(types, MappingNode)
    return {info.name: info for info in map(_dtype, mappings_of(types.get("dtypes")))}


def _enum(node: MappingNode) -> EnumType:
    values = tuple(
        EnumValue(
            text_of(v.get("name")), _number(v.get("value")), text_of(v.get("doc")), _span(v), flag_of(v.get("alias"))
        )
        for v in mappings_of(node.get("values"))
    )
    name, doc, header = (text_of(node.get(key)) for key in ("name", "doc", "header"))
    return EnumType(name, doc, values, _span(node), header)


def _struct(node: MappingNode) -> StructType:
    fields = tuple(
        StructField(text_of(f.get("name")), text_of(f.get("c_type")), _number(f.get("offset")), text_of(f.get("doc")))
        for f in mappings_of(node.get("fields"))
    )
    size, align = _number(node.get("size")), _number(node.get("align"))
    name, doc, header = (text_of(node.get(key)) for key in ("name", "doc", "header"))
    return StructType(name, doc, size, align, fields, _span(node), header)


def _handle(node: MappingNode) -> HandleType:
    name, doc, c_type, header = (text_of(node.get(key)) for key in ("name", "doc", "c_type", "header"))
    return HandleType(name, doc, c_type, _span(node), header)


def _header(node: MappingNode, functions: Iterable[Function]) -> Header:
    """A header with its functions: first in the frozen order, then new ones in the order of the files."""
    file = text_of(node.get("file"))
    order = tuple((text_of(item), item.span) for item in items_of(node.get("order")))
    rank = {name: position for position, (name, _) in enumerate(order)}
    own = [function for function in functions if function.header == file]
    own.sort(key=lambda function: rank.get(function.name, len(rank)))
    included = items_of(node.get("includes"))
    includes = tuple(text_of(item) for item in included)
    span = (node.get("file") or node).span
    spans = tuple(item.span for item in included)
    not_covered = optional_text(node.get("not_covered"))
    return Header(file, text_of(node.get("doc")), includes, order, tuple(own), span, spans, not_covered)


def _device_function(node: MappingNode) -> DeviceFunction:
    params = tuple(
        DeviceParameter(text_of(p.get("name")), text_of(p.get("c_type")), text_of(p.get("doc")))
        for p in mappings_of(node.get("params"))
    )
    name, doc, returns, register, linked, missing = (
        text_of(node.get(key)) for key in ("name", "doc", "returns", "register", "linked_name", "missing_error")
    )
    return DeviceFunction(name, doc, returns, params, register, linked, missing)
