"""A first spec from parsed headers: everything that C says, and an open place for everything that it does not.

Nothing is guessed. What may be written through a pointer has no direction unless its comment says `out` or `in,out`,
tensors have the dtypes that their comment lists (`type = [...]`) or none, outputs no shape. An entry with such places
is marked `draft: true`: `diopigen check` names each of them as a warning, and a person fills them in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from diopigen.check.documentation import function_names
from diopigen.check.names import KEYWORDS
from diopigen.diagnostics import Sink, Span
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.spec.selection import declared_in, naming_of, supported, words_of
from diopigen.emit.spec.tables import with_table
from diopigen.emit.spec.types_file import dtypes_of, types_text
from diopigen.emit.spec.yaml_text import OPEN, c_text, quoted, sentence
from diopigen.header.cdecl import CDocParam, CFunction, CInterface, CParam, documented_params
from diopigen.header.clang import Language, parse_headers
from diopigen.header.compare import quoted as listed
from diopigen.header.doc_drift import DTYPE_WORDS
from diopigen.header.doxygen import DTYPE_LIST
from diopigen.header.signature import c_type
from diopigen.ir.c_types import is_written_through
from diopigen.ir.model import Parameter
from diopigen.ir.naming import DIOPI, Naming
from diopigen.ir.types import TYPES
from diopigen.ir.variants import with_direction
from diopigen.spec.grammar_words import HEADER_NAME

RULES = {
    "import-nothing": "A header that is imported declares functions.",
    "import-unsupported": "A declaration that the grammar cannot hold is left out of an imported spec and named.",
}

_EMITTER = "import-proto"
_VALUES = {
    "bool": "bool",
    "int": "int",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint64_t": "uint64",
    "size_t": "size_t",
    "float": "float",
    "double": "double",
}
_COUNTERS = frozenset({"int64_t", "int32_t", "int", "size_t", "const int64_t"})
_SPECIAL_FAMILIES = frozenset({"runtime", "collective"})
"""Families that mean more to diopigen than a name."""


def first_spec(
    paths: Sequence[Path],
    sink: Sink,
    include_dirs: Sequence[Path] = (),
    *,
    language: Language = "c++",
    prefix: str | None = None,
    status: str | None = None,
) -> Plan | None:
    """The files of a first spec for the headers at `paths`; None where one cannot be read. `prefix` begins the names of
    the functions that are imported, `status` is the type that they return unless their entries say otherwise."""
    parsed = parse_headers(paths, sink=sink, include_dirs=include_dirs, language=language, included=True)
    if parsed is None:
        return None
    for path in paths:
        if not re.fullmatch(HEADER_NAME.pattern or "", path.name):
            fix = "give it a name of letters, digits, '_', '-', '+' and '.' that ends in .h, .hh, .hpp or .hxx"
            sink.error("import-unsupported", f"'{path.name}' cannot be the name of a header", Span(str(path)), fix=fix)
    if sink.has_errors:
        return Plan()
    found = Sink()
    declared = with_table(declared_in(parsed, parsed.files), found)
    naming = naming_of(declared.functions, {enum.name for enum in declared.enums}, prefix, status)
    types = {one.name for one in declared.types}
    if status is not None and not types.issuperset(words_of(naming.status)):
        fix = "name a type that the headers declare, or one of C"
        sink.error("import-unsupported", f"no header declares the status '{status}'", Span(str(paths[0])), fix=fix)
        return Plan()
    plan = spec_files(declared, [path.name for path in paths], naming, found)
    if not plan.files:
        message, fix = "declares no function", "import headers that declare functions"
        if declared.functions:
            last = found.sorted()[-1]
            message = f"imports none of {len(declared.functions)} functions: {last.message}"
            fix = last.fix or fix
        elif parsed.functions and parsed.functions[0].span is not None:
            fix = f"import what it includes: {parsed.functions[0].span.file}"
        sink.error("import-nothing", message, Span(str(paths[0]), 0, 0), fix=fix)
    else:
        sink.extend(found.sorted())
    return plan


def spec_files(interface: CInterface, headers: Sequence[str], naming: Naming, sink: Sink) -> Plan:
    """`types.yaml`, `headers.yaml` and one file of operators for each header, no file without a function; what was left
    out goes to `sink`."""
    types = {declared.name for declared in interface.types}
    retained = supported(interface, naming, sink)
    if not retained:
        return Plan()
    types_header = _types_header(interface, headers)
    files = [
        PlannedFile("types.yaml", types_text(interface, types_header, naming, sink).encode(), (), _EMITTER),
        PlannedFile("headers.yaml", _headers(retained, headers, types_header).encode(), (), _EMITTER),
    ]
    values = {name for enum in interface.enums for name, _ in enum.values}
    known = types | values | {function.name for function in retained}
    comments = _Comments(interface, frozenset(dtypes_of(interface.enums, naming)), known, sink)
    for header in dict.fromkeys(headers):
        own = [function for function in retained if function.header == header]
        if own:
            stem = re.sub(r"\.\w+$", "", header)
            text = _operators(stem, header, own, types, naming, comments)
            files.append(PlannedFile(f"ops/{stem}.yaml", text.encode(), (), _EMITTER))
    return Plan(tuple(files))


def _types_header(interface: CInterface, headers: Sequence[str]) -> str:
    """The header that declares the enums; the first one where none does."""
    for enum in interface.enums:
        base = "" if enum.span is None else enum.span.file.rpartition("/")[2]
        if base in headers:
            return base
    return headers[0]


def _headers(functions: Sequence[CFunction], headers: Sequence[str], types_header: str) -> str:
    lines = ["headers:"]
    for header in dict.fromkeys([types_header, *headers]):
        includes = "" if header == types_header else quoted(types_header)
        lines += [f"  - file: {quoted(header)}", f"    doc: {OPEN}", f"    includes: [{includes}]"]
        order = [function.name for function in functions if function.header == header]
        lines += ["    order:", *(f"      - {quoted(name)}" for name in order)] if order else ["    order: []"]
    return "\n".join(lines) + "\n"


class _Comments:
    """Text, direction and dtypes of parameters from comments, also where another function's comment has them."""

    def __init__(self, interface: CInterface, dtypes: Collection[str], known: Collection[str], sink: Sink) -> None:
        self._by_name = {function.name: function for function in interface.functions}
        self._dtypes = dtypes
        self._known = known
        self._sink = sink

    def params(self, function: CFunction) -> Mapping[str, CDocParam]:
        return documented_params(self._by_name, function)

    def names_nothing(self, texts: Iterable[str]) -> bool:
        """Returns whether one of the texts names a function that there is not."""
        return any(name not in self._known for text in texts for name in function_names(text))

    def dtypes(self, function: CFunction, entry: CDocParam) -> list[str]:
        """The dtypes that are listed, by the names of the spec; empty, with a warning, where one is unknown."""
        named = [DTYPE_WORDS.get(word, word) for word in entry.dtypes]
        unknown = [word for word in named if word not in self._dtypes]
        if unknown:
            message = f"the dtypes of '{entry.name}' of {function.name} are left out: {listed(unknown)} unknown"
            self._sink.warning("import-unsupported", message, entry.span, fix="fill them in by hand")
        return [] if unknown else list(dict.fromkeys(named))


def _family(stem: str) -> str:
    word = re.sub(r"\W", "_", stem)
    return f"{word}_h" if word in _SPECIAL_FAMILIES else word if not word[0].isdigit() else f"_{word}"


def _operators(
    stem: str, header: str, functions: Sequence[CFunction], named: set[str], naming: Naming, comments: _Comments
) -> str:
    lines = [f"family: {_family(stem)}", f"header: {quoted(header)}", f"doc: {OPEN}", "operators:"]
    for function in functions:
        doc = sentence(function.doc.brief if function.doc and function.doc.brief.strip() else OPEN)
        lines += [f"  - name: {quoted(naming.short(function.name))}", f"    doc: {quoted(doc)}"]
        params = list(function.params)
        if params and params[0].type == "diopiContextHandle_t":
            params = params[1:]
        else:
            lines.append("    context: false")
        if function.returns == "const char *":
            lines.append("    returns: string")
        elif function.returns != naming.status:
            lines.append(f"    returns: {c_text(function.returns)}")
        if not function.weak:
            lines.append("    linkage: strong")
        if function.deprecated:
            lines.append("    deprecated: To be explained.")
        documented = comments.params(function)
        keys = [
            _param(function, params, position, named, naming, documented, comments) for position in range(len(params))
        ]
        if _is_open(keys) or comments.names_nothing([doc, *(one["doc"] for one in keys)]):
            lines.append("    draft: true")
        lines += ["    params:"] if params else ["    params: []"]
        lines += ["      - {" + ", ".join(f"{key}: {value}" for key, value in one.items()) + "}" for one in keys]
    return "\n".join(lines) + "\n"


def _is_open(params: Sequence[Mapping[str, str]]) -> bool:
    """Returns whether something stays open that `diopigen check` asks for."""
    seen_input = False
    for keys in params:
        info = TYPES.get(keys["type"])
        if info is None:
            continue
        direction = keys.get("direction", "")
        if "c_type" in keys and not direction and is_written_through(keys["c_type"].strip("'")):
            return True
        written = direction in ("out", "partial_out") and info.has_shape
        if (info.needs_direction and not direction) or (info.needs_count and "count" not in keys):
            return True
        if (info.has_shape and "dtype" not in keys) or (written and ("shape" not in keys or seen_input)):
            return True
        seen_input = seen_input or (info.has_shape and direction == "in")
    return False


def _param(
    function: CFunction,
    params: Sequence[CParam],
    position: int,
    named: set[str],
    naming: Naming,
    documented: Mapping[str, CDocParam],
    comments: _Comments,
) -> dict[str, str]:
    param = params[position]
    known = documented.get(param.name)
    tag = known.direction.replace(" ", "") if known else ""
    name = f"{param.name}_" if param.name in KEYWORDS else param.name
    keys = {"name": quoted(name or f"unnamed{position}")}
    keys |= _type_keys(param.type, tag, params, position, named, naming)
    if not param.name:
        keys["unnamed"] = "true"
    info = TYPES.get(keys["type"])
    dtypes = comments.dtypes(function, known) if known and info and info.has_dtype else []
    if dtypes:
        keys["dtype"] = f"[{', '.join(dtypes)}]"
    text = known.text if known else ""
    if dtypes:
        text = DTYPE_LIST.sub("", text).strip()  # said by the key
    keys["doc"] = quoted(sentence(text)) if text.strip(" .") else OPEN
    return keys


def _type_keys(
    spelling: str, tag: str, params: Sequence[CParam], position: int, named: set[str], naming: Naming
) -> dict[str, str]:
    """The keys of the grammar that say the same as a C type; what no word says stays C."""
    written = {"out": "out", "in,out": "inout", "inout": "inout"}.get(tag, "")
    # Elsewhere a pointer to a value may be an array.
    is_plain = naming == DIOPI or spelling == "const char *" or re.fullmatch(r"[\w ]+", spelling)
    keys = _words(spelling, written, params, position, named) if is_plain else {}
    if keys and (keys["type"] in TYPES or keys["type"] in named) and _spelled(keys) == spelling:
        return keys
    said = {"direction": written} if written and is_written_through(spelling) else {}
    return {"type": "opaque", "c_type": c_text(spelling), **said}


def _spelled(keys: Mapping[str, str]) -> str:
    """The C type that keys of the grammar say."""
    nullable, const, mutable = (keys.get(key) == "true" for key in ("nullable", "const", "mutable"))
    param = Parameter("", keys["type"], keys.get("direction", ""), "", Span(""))
    return c_type(with_direction(replace(param, nullable=nullable, const=const, mutable=mutable)))


def _words(spelling: str, written: str, params: Sequence[CParam], position: int, named: set[str]) -> dict[str, str]:
    """The words of the grammar for a C type, as DIOPI uses it."""
    direction = {"direction": written} if written else {}
    following = params[position + 1] if position + 1 < len(params) else None
    count = {"count": following.name} if following is not None and following.type in _COUNTERS else {}
    base = spelling.removesuffix(" *").removesuffix(" **")
    if spelling in ("diopiConstTensorHandle_t", "const diopiConstTensorHandle_t"):
        return {"type": "tensor", "direction": "in"} | ({"const": "true"} if spelling.startswith("const") else {})
    if spelling == "diopiTensorHandle_t":
        return {"type": "tensor", **direction}
    if spelling == "diopiConstTensorHandle_t *":
        return {"type": "tensors", "direction": "in", **count}
    if spelling == "diopiTensorHandle_t *":
        return {"type": "tensors", **direction, **count} if count else {"type": "new_tensor", "direction": "out"}
    if base in ("diopiScalar_t", "const diopiScalar_t"):
        return {"type": "scalar"} if spelling.startswith("const") else {"type": "scalar", "mutable": "true"}
    if base in ("diopiSize_t", "const diopiSize_t"):
        if not spelling.endswith("*"):
            return {"type": "sizes"} | ({"const": "true"} if spelling.startswith("const") else {})
        return {"type": "sizes", "nullable": "true"} | ({} if spelling.startswith("const") else {"mutable": "true"})
    if spelling == "const char *":
        return {"type": "string"}
    if base in ("diopiGeneratorHandle_t", "diopiConstGeneratorHandle_t"):
        if spelling.endswith("*"):
            return {"type": "generators", "direction": "inout", **count}
        return {"type": "generator", "direction": "in" if "Const" in spelling else "inout"}
    if base in ("void", "const void"):
        return (
            {"type": "opaque"}
            if spelling == "void *"
            else {"type": "opaque", "direction": "out"} | ({"const": "true"} if spelling.startswith("const") else {})
        )
    is_const, is_pointer = spelling.startswith("const "), spelling.endswith("*")
    value = base.removeprefix("const ")
    spelt = _VALUES.get(value, value)
    if is_pointer:
        return {"type": spelt, "nullable": "true"} if is_const else {"type": spelt, "direction": written or "out"}
    return {"type": spelt} | ({"const": "true"} if is_const else {})
