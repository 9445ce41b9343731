"""C headers against the interface, and the C side of an interface from whatever holds one: values in, findings out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from diopigen.diagnostics import Sink, Span
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import Language, parse_headers
from diopigen.header.doc_drift import doc_drift
from diopigen.header.interface_diff import compare_functions, compare_interfaces
from diopigen.header.json_reader import read_interface_json
from diopigen.header.signature import c_interface
from diopigen.ir.load import load_interface
from diopigen.ir.model import DtypeList, DtypeRule, Interface, Parameter
from diopigen.spec.expression import to_text

LABEL = "the spec"
_SAME = re.compile(r"same\((\w+)\)")


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
    chosen: Language = "c" if language == "c" else "c++"
    actual = parse_headers(paths, language=chosen, sink=sink, docs=docs, include_dirs=include_dirs)
    if actual is None:
        return 0
    known = {header.file for header in interface.headers}
    given = {path.name for path in paths}
    expected = c_interface(interface)
    if given <= known:
        wanted = {function.name for function in interface.functions if function.header in given}
        expected = replace(expected, functions=tuple(f for f in expected.functions if f.name in wanted))
    if interface.types_header in given or not given <= known:
        compare_interfaces(expected, actual, sink, expected_label=LABEL)
    else:
        compare_functions(expected, actual, sink, expected_label=LABEL)
    if docs:
        directions = {(f.name, p.name): p.direction for f in interface.functions for p in f.params if p.direction}
        doc_drift(actual, sink, directions, listed_dtypes(interface))
    return len(actual.functions)


def read_any(path: Path, sink: Sink) -> CInterface | None:
    """The interface in a spec folder, a `diopi.json`, a header or a folder of headers; None after an error."""
    if path.is_dir() and (path / "types.yaml").exists():
        loaded = load_interface(path, sink, str(path))
        return c_interface(loaded.interface) if loaded.complete else None
    if path.is_dir():
        headers = sorted(path.rglob("*.h"))
        if not headers:
            fix = "name a spec folder, a diopi.json, a header or a folder of headers"
            sink.error("interface-unreadable", "holds neither a spec nor headers", Span(str(path)), fix=fix)
            return None
        return parse_headers(headers, sink=sink)
    if path.suffix == ".json":
        return read_interface_json(path, sink)
    return parse_headers([path], sink=sink)


def listed_dtypes(interface: Interface) -> dict[tuple[str, str], tuple[str, ...]]:
    """The dtypes of each (function, parameter) that the spec lists, also where one is that of another parameter."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for function in interface.functions:
        params = {param.name: param for param in function.params}
        for param in function.params:
            source: Parameter | None = param
            seen: set[str] = set()
            while source is not None and source.name not in seen and isinstance(source.dtype, DtypeRule):
                seen.add(source.name)
                same = _SAME.fullmatch(to_text(source.dtype.formula.expression))
                source = params.get(same[1]) if same else None
            if source is not None and isinstance(source.dtype, DtypeList):
                found[function.name, param.name] = source.dtype.dtypes
    return found
