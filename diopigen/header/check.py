"""C headers against the interface, and the C side of an interface from whatever holds one: values in, findings out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.contract.dtype_rules import literal
from diopigen.contract.dtypes import opmath
from diopigen.contract.functions import ONE_OF
from diopigen.diagnostics import Sink, Span
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import Language, parse_headers
from diopigen.header.doc_drift import doc_drift
from diopigen.header.interface_diff import compare_functions, compare_interfaces
from diopigen.header.json_reader import read_interface_json
from diopigen.header.signature import c_interface
from diopigen.ir.load import load_interface
from diopigen.ir.model import DtypeList, DtypeRule, Interface, Parameter
from diopigen.ir.naming import DIOPI
from diopigen.spec.expression import Call, Expression, Name

LABEL = "the spec"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an interface: its declarations, and its contracts where a spec says them."""

    declared: CInterface
    spec: Interface | None = None


def check_headers(
    interface: Interface,
    paths: Sequence[Path],
    sink: Sink,
    *,
    language: str = "c++",
    docs: bool = True,
    include_dirs: Sequence[Path] = (),
) -> int:
    """Compares headers with the spec, and their comments with their declarations; gives the functions compared."""
    selected: Language = "c" if language == "c" else "c++"
    actual = parse_headers(paths, language=selected, sink=sink, docs=docs, include_dirs=include_dirs)
    if actual is None:
        return 0
    known = {header.file for header in interface.headers}
    provided = {path.name for path in paths}
    expected = c_interface(_declared_in(interface, provided) if provided <= known else interface)
    if provided <= known:
        declared = {function.name for function in interface.functions if function.header in provided}
        expected = replace(expected, functions=tuple(f for f in expected.functions if f.name in declared))
    # Of another library's headers some may only be included, so that their types are not among those compared.
    has_all_types = interface.naming == DIOPI
    if has_all_types and (interface.types_header in provided or not provided <= known):
        compare_interfaces(expected, actual, sink, expected_label=LABEL)
    else:
        compare_functions(expected, actual, sink, expected_label=LABEL)
    if docs:
        directions = {(f.name, p.name): p.direction for f in interface.functions for p in f.params if p.direction}
        doc_drift(actual, sink, directions, listed_dtypes(interface))
    return len(actual.functions)


def _declared_in(interface: Interface, headers: Set[str]) -> Interface:
    """The interface without the types that other headers declare."""

    def is_declared(header: str) -> bool:
        return not header or header in headers

    return replace(
        interface,
        enums=tuple(enum for enum in interface.enums if is_declared(enum.header)),
        structs=tuple(struct for struct in interface.structs if is_declared(struct.header)),
        handles=tuple(handle for handle in interface.handles if is_declared(handle.header)),
    )


def read_version(path: Path, sink: Sink, include_dirs: Sequence[Path] = ()) -> Version | None:
    """The interface in a spec folder, a `diopi.json`, a header or a folder of headers, and what the spec says where it
    is a spec folder; None after an error. What rules of `check` find is not looked for."""
    if path.is_dir() and (path / "types.yaml").exists():
        loaded = load_interface(path, sink, str(path))
        return Version(c_interface(loaded.interface), loaded.interface) if loaded.complete else None
    declared = _declared(path, sink, include_dirs)
    return None if declared is None else Version(declared)


def _declared(path: Path, sink: Sink, include_dirs: Sequence[Path]) -> CInterface | None:
    if path.is_dir():
        headers = sorted(path.rglob("*.h"))
        if not headers:
            fix = "name a spec folder, a diopi.json, a header or a folder of headers"
            sink.error("interface-unreadable", "holds neither a spec nor headers", Span(str(path)), fix=fix)
            return None
        return parse_headers(headers, sink=sink, include_dirs=include_dirs)
    if path.suffix == ".json":
        return read_interface_json(path, sink)
    return parse_headers([path], sink=sink, include_dirs=include_dirs)


def listed_dtypes(interface: Interface) -> dict[tuple[str, str], tuple[str, ...]]:
    """The dtypes of each (function, parameter) that the spec lists, also where one is that of another parameter."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for function in interface.functions:
        params = {param.name: param for param in function.params}
        for param in function.params:
            dtypes = _dtypes(param, params, frozenset())
            if dtypes:
                found[function.name, param.name] = dtypes
    return found


def _dtypes(param: Parameter | None, params: Mapping[str, Parameter], seen: frozenset[str]) -> tuple[str, ...]:
    """The dtypes of a list, of that which a rule leads to, or of all alternatives; empty where a rule computes one."""
    if param is None or param.name in seen:
        return ()
    if isinstance(param.dtype, DtypeList):
        return param.dtype.dtypes
    if not isinstance(param.dtype, DtypeRule):
        return ()
    rule = param.dtype.formula.expression
    if not isinstance(rule, Call) or rule.function not in ("same", ONE_OF):
        return ()
    seen |= {param.name}
    possible = [_alternative(one, params, seen) for one in rule.arguments]
    return tuple(dict.fromkeys(dtype for one in possible for dtype in one)) if all(possible) else ()


def _alternative(rule: Expression, params: Mapping[str, Parameter], seen: frozenset[str]) -> tuple[str, ...]:
    if literal(rule):
        return (literal(rule),)
    if isinstance(rule, Call) and rule.function == "opmath":
        return tuple(map(opmath, _alternative(rule.arguments[0], params, seen)))
    return _dtypes(params.get(rule.name), params, seen) if isinstance(rule, Name) else ()
