"""A first spec from parsed headers: everything that C says, and an open place for everything that it does not.

Nothing is guessed. A tensor that may be written has no direction unless its comment says `out` or `in,out`, tensors
have the dtypes that their comment lists (`type = [...]`) or none, outputs no shape. An entry with such places is marked
`draft: true`: `diopigen check` names each of them as a warning, and a person fills them in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from diopigen.diagnostics import Sink, Span
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.header.cdecl import CDocParam, CEnum, CFunction, CInterface, CParam, documented_params
from diopigen.header.clang import parse_headers
from diopigen.header.compare import quoted as listed
from diopigen.header.doc_drift import DTYPE_WORDS
from diopigen.header.doxygen import DTYPE_LIST
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.load import known_dtypes
from diopigen.ir.types import TYPES

RULES = {
    "import-nothing": "A header that is imported has functions of DIOPI.",
    "import-unsupported": "A declaration that the grammar cannot hold is left out of an imported spec and named.",
}

_EMITTER = "import-proto"
_OPEN = "To be described."
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
_SETS = {
    "floating": ("float16", "bfloat16", "float32", "float64"),
    "integral": ("uint8", "int8", "int16", "int32", "int64"),
    "index": ("int32", "int64"),
    "complex": ("complex64", "complex128"),
}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.()/-]*(?: [A-Za-z0-9_.()/-]+)*\Z")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "True", "False"})


def quoted(text: str) -> str:
    """A YAML scalar for a text: plain where that is safe, single quotes elsewhere."""
    flat = " ".join(text.split())
    if _PLAIN.match(flat) and flat.lower() not in _WORDS:
        return flat
    return "'" + flat.replace("'", "''") + "'"


def first_spec(paths: Sequence[Path], sink: Sink, include_dirs: Sequence[Path] = ()) -> Plan | None:
    """The files of a first spec for the headers at `paths`; None after an error."""
    actual = parse_headers(paths, sink=sink, include_dirs=include_dirs)
    if actual is None:
        return None
    found = Sink()
    plan = spec_files(actual, [path.name for path in paths], found)
    if any(map(_is_named_and_returned, actual.functions)) or not actual.functions:
        sink.extend(found.sorted())
        return plan
    begins = Counter(re.sub(r"(?<=[a-z0-9_])[A-Z].*|(?<=_).*", "", one.name) for one in actual.functions)
    returned = Counter(one.returns for one in actual.functions)
    most = begins.most_common(1)[0][0]
    message = f"none of the {len(actual.functions)} functions is one of DIOPI: most begin with '{most}'"
    fix = "import headers whose functions are called diopi... and return diopiError_t"
    span = Span(str(paths[0]), 0, 0)
    sink.error("import-nothing", f"{message} and return '{returned.most_common(1)[0][0]}'", span, fix=fix)
    return plan


def spec_files(interface: CInterface, headers: Sequence[str], sink: Sink) -> Plan:
    """`types.yaml`, `headers.yaml` and one file of operators for each header; what was left out goes to `sink`."""
    retained = [function for function in interface.functions if _is_supported(function, sink)]
    types_header = _types_header(interface, headers)
    files = [
        PlannedFile("types.yaml", _types(interface, types_header).encode(), (), _EMITTER),
        PlannedFile("headers.yaml", _headers(retained, headers, types_header).encode(), (), _EMITTER),
    ]
    enums = {enum.name for enum in interface.enums} | {typedef.name for typedef in interface.typedefs}
    comments = _Comments(interface, frozenset(_known_dtypes(interface.enums)), sink)
    for header in headers:
        own = [function for function in retained if function.header == header]
        if own:
            stem = header.removesuffix(".h")
            text = _operators(stem, header, own, enums, comments)
            files.append(PlannedFile(f"ops/{stem}.yaml", text.encode(), (), _EMITTER))
    return Plan(tuple(files))


def _is_named_and_returned(function: CFunction) -> bool:
    return bool(re.fullmatch(r"diopi[A-Z]\w*", function.name)) and function.returns in ("diopiError_t", "const char *")


def _is_supported(function: CFunction, sink: Sink) -> bool:
    problem = ""
    if not re.fullmatch(r"diopi[A-Z]\w*", function.name):
        problem = "its name does not begin with diopi and a capital"
    elif function.returns not in ("diopiError_t", "const char *"):
        problem = f"it returns {function.returns}"
    if problem:
        message = f"{function.name} is left out: {problem}"
        sink.warning("import-unsupported", message, function.span, fix="keep it outside the spec")
    return not problem


def _types_header(interface: CInterface, headers: Sequence[str]) -> str:
    """The header that declares the enums; the first one where none does."""
    for enum in interface.enums:
        if enum.span is not None:
            return enum.span.file.rpartition("/")[2]
    return headers[0]


def _types(interface: CInterface, header: str) -> str:
    macros = dict(interface.macros)
    version = [macros.get(f"DIOPI_VER_{part}", "0") for part in ("MAJOR", "MINOR", "PATCH")]
    major, minor, patch = (text if text.isdigit() else "0" for text in version)
    lines = [f"version: {{major: {major}, minor: {minor}, patch: {patch}}}", f"header: {header}", ""]
    lines += ["enums:" if interface.enums else "enums: []"]
    for enum in interface.enums:
        lines += [f"  - name: {enum.name}", f"    doc: {_OPEN}", "    values:"]
        lines += [f"      - {{name: {name}, value: {value}, doc: {_OPEN}}}" for name, value in enum.values]
    structs = [struct for struct in interface.structs if not struct.opaque]
    lines += ["", "structs:" if structs else "structs: []"]
    for struct in structs:
        lines += [f"  - name: {struct.name}", f"    doc: {_OPEN}", f"    size: {struct.size}"]
        lines += [f"    align: {struct.align}", "    fields:"]
        for field in struct.fields:
            c_type = quoted(field.type)
            lines.append(f"      - {{name: {field.name}, c_type: {c_type}, offset: {field.offset}, doc: {_OPEN}}}")
    lines += ["", *_handles(interface)]
    dtypes = _known_dtypes(interface.enums)
    lines += ["", "dtypes:" if dtypes else "dtypes: []"]
    lines += [f"  - {{{_dtype(known_dtypes()[name], enum_value)}}}" for name, enum_value in dtypes.items()]
    sets = {name: [dtype for dtype in members if dtype in dtypes] for name, members in _SETS.items()}
    lines += ["", "dtype_sets:" if any(sets.values()) else "dtype_sets: []"]
    lines += [f"  - {{name: {n}, of: [{', '.join(m)}], doc: {_OPEN}}}" for n, m in sets.items() if m]
    return "\n".join(lines) + "\n"


def _dtype(info: DtypeInfo, enum_value: str) -> str:
    """The keys of a dtype that the spec of the package has too, with the value of another enum."""
    keys = {"name": info.name, "enum": enum_value, "bytes": info.bytes, "kind": info.kind, "digits": info.digits}
    keys |= {"exponent": info.exponent, "compute": info.compute if info.compute != info.name else ""}
    keys |= {key: getattr(info, key) for key in ("real", "complex", "c", "numpy", "aten")}
    return ", ".join(f"{key}: {value}" for key, value in keys.items() if value)


def _handles(interface: CInterface) -> list[str]:
    """Typedefs that are neither an enum nor a defined struct; pointers to opaque structs keep their tag."""
    own = {enum.name for enum in interface.enums} | {s.name for s in interface.structs if not s.opaque}
    opaque = {struct.name for struct in interface.structs if struct.opaque}
    lines = []
    for typedef in interface.typedefs:
        if typedef.name in own:
            continue
        words = [f"struct {word}" if word in opaque else word for word in typedef.underlying.split()]
        lines.append(f"  - {{name: {typedef.name}, c_type: {quoted(' '.join(words))}, doc: {_OPEN}}}")
    return ["handles:", *lines] if lines else ["handles: []"]


def _known_dtypes(enums: Iterable[CEnum]) -> dict[str, str]:
    """dtype to enum value, for the values of an enum of dtypes whose suffix is a known dtype."""
    for enum in enums:
        if "dtype" in enum.name.lower():
            found = {name.rpartition("_")[2]: name for name, _ in enum.values}
            return {dtype: found[dtype] for dtype in known_dtypes() if dtype in found}
    return {}


def _headers(functions: Sequence[CFunction], headers: Sequence[str], types_header: str) -> str:
    lines = ["headers:"]
    for header in dict.fromkeys([types_header, *headers]):
        includes = "" if header == types_header else types_header
        lines += [f"  - file: {header}", f"    doc: {_OPEN}", f"    includes: [{includes}]"]
        order = [function.name for function in functions if function.header == header]
        lines += ["    order:", *(f"      - {name}" for name in order)] if order else ["    order: []"]
    return "\n".join(lines) + "\n"


class _Comments:
    """What comments say of parameters: their text, direction and dtypes, also where another function's comment does."""

    def __init__(self, interface: CInterface, dtypes: Collection[str], sink: Sink) -> None:
        self._by_name = {function.name: function for function in interface.functions}
        self._dtypes = dtypes
        self._sink = sink

    def params(self, function: CFunction) -> Mapping[str, CDocParam]:
        return documented_params(self._by_name, function)

    def dtypes(self, function: CFunction, entry: CDocParam) -> list[str]:
        """The dtypes that are listed, by the names of the spec; empty, with a warning, where one is unknown."""
        named = [DTYPE_WORDS.get(word, word) for word in entry.dtypes]
        unknown = [word for word in named if word not in self._dtypes]
        if unknown:
            message = f"the dtypes of '{entry.name}' of {function.name} are left out: {listed(unknown)} unknown"
            self._sink.warning("import-unsupported", message, entry.span, fix="fill them in by hand")
        return [] if unknown else list(dict.fromkeys(named))


def _operators(family: str, header: str, functions: Sequence[CFunction], named: set[str], comments: _Comments) -> str:
    lines = [f"family: {family}", f"header: {header}", f"doc: {_OPEN}", "operators:"]
    for function in functions:
        doc = function.doc.brief if function.doc and function.doc.brief.strip() else _OPEN
        lines += [f"  - name: {function.name.removeprefix('diopi')}", f"    doc: {quoted(_sentence(doc))}"]
        params = list(function.params)
        if params and params[0].type == "diopiContextHandle_t":
            params = params[1:]
        else:
            lines.append("    context: false")
        if function.returns == "const char *":
            lines.append("    returns: string")
        if not function.weak:
            lines.append("    linkage: strong")
        if function.deprecated:
            lines.append("    deprecated: To be explained.")
        documented = comments.params(function)
        keys = [_param(function, params, position, named, documented, comments) for position in range(len(params))]
        if _is_open(keys):
            lines.append("    draft: true")
        lines += ["    params:"] if params else ["    params: []"]
        lines += ["      - {" + ", ".join(f"{key}: {value}" for key, value in one.items()) + "}" for one in keys]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    flat = " ".join(text.split())
    return flat if flat.endswith(".") else f"{flat}."


def _is_open(params: Sequence[Mapping[str, str]]) -> bool:
    """Whether something stays open that `diopigen check` asks for."""
    seen_input = False
    for keys in params:
        info = TYPES.get(keys["type"])
        if info is None:
            continue
        direction = keys.get("direction", "")
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
    documented: Mapping[str, CDocParam],
    comments: _Comments,
) -> dict[str, str]:
    param = params[position]
    known = documented.get(param.name)
    tag = known.direction.replace(" ", "") if known else ""
    keys = {"name": param.name or f"unnamed{position}", **_type_keys(param.type, tag, params, position, named)}
    if not param.name:
        keys["unnamed"] = "true"
    info = TYPES.get(keys["type"])
    dtypes = comments.dtypes(function, known) if known and info and info.has_dtype else []
    if dtypes:
        keys["dtype"] = f"[{', '.join(dtypes)}]"
    text = known.text if known else ""
    if dtypes:
        text = DTYPE_LIST.sub("", text).strip()  # said by the key
    keys["doc"] = quoted(_sentence(text)) if text.strip(" .") else _OPEN
    return keys


def _type_keys(c_type: str, tag: str, params: Sequence[CParam], position: int, named: set[str]) -> dict[str, str]:
    """The keys of the grammar that say the same as a C type."""
    written = {"out": "out", "in,out": "inout", "inout": "inout"}.get(tag, "")
    direction = {"direction": written} if written else {}
    following = params[position + 1] if position + 1 < len(params) else None
    count = {"count": following.name} if following is not None and following.type in _COUNTERS else {}
    base = c_type.removesuffix(" *").removesuffix(" **")
    if c_type in ("diopiConstTensorHandle_t", "const diopiConstTensorHandle_t"):
        return {"type": "tensor", "direction": "in"} | ({"const": "true"} if c_type.startswith("const") else {})
    if c_type == "diopiTensorHandle_t":
        return {"type": "tensor", **direction}
    if c_type == "diopiConstTensorHandle_t *":
        return {"type": "tensors", "direction": "in", **count}
    if c_type == "diopiTensorHandle_t *":
        return {"type": "tensors", **direction, **count} if count else {"type": "new_tensor", "direction": "out"}
    if base in ("diopiScalar_t", "const diopiScalar_t"):
        return {"type": "scalar"} if c_type.startswith("const") else {"type": "scalar", "mutable": "true"}
    if base in ("diopiSize_t", "const diopiSize_t"):
        if not c_type.endswith("*"):
            return {"type": "sizes"} | ({"const": "true"} if c_type.startswith("const") else {})
        return {"type": "sizes", "nullable": "true"} | ({} if c_type.startswith("const") else {"mutable": "true"})
    if c_type == "const char *":
        return {"type": "string"}
    if base in ("diopiGeneratorHandle_t", "diopiConstGeneratorHandle_t"):
        if c_type.endswith("*"):
            return {"type": "generators", "direction": "inout", **count}
        return {"type": "generator", "direction": "in" if "Const" in c_type else "inout"}
    if base in ("void", "const void"):
        return (
            {"type": "opaque"}
            if c_type == "void *"
            else {"type": "opaque", "direction": "out"} | ({"const": "true"} if c_type.startswith("const") else {})
        )
    is_const, is_pointer = c_type.startswith("const "), c_type.endswith("*")
    value = base.removeprefix("const ")
    spelt = _VALUES.get(value, value if value in named else c_type.replace(" *", "_pointer").replace(" ", "_"))
    if is_pointer:
        return {"type": spelt, "nullable": "true"} if is_const else {"type": spelt, "direction": written or "out"}
    return {"type": spelt} | ({"const": "true"} if is_const else {})
