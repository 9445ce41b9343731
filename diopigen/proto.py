"""Work on C headers and vendor sources, over the rooms `header`, `check` and `emit`; values in, findings out."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.diagnostics import Sink, Span
from diopigen.emit import headers as emit_headers
from diopigen.emit.first_spec import spec_files
from diopigen.emit.plan import Plan
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import Language, parse_headers
from diopigen.header.doc_drift import doc_drift
from diopigen.header.interface_diff import compare_functions, compare_interfaces
from diopigen.header.json_reader import read_interface_json
from diopigen.header.signature import c_interface
from diopigen.header.vendor import VendorSources, check_impl, scan_vendor
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


def check_vendor(
    interface: Interface, where: Workspace, directory: Path, prelude: Sequence[Path], sink: Sink
) -> tuple[str, ...]:
    """Compares a vendor's definitions with the interface; gives the implemented functions in its order.

    Without `prelude` the public headers are made from the spec for the time of the scan.
    """
    return scan_and_check(interface, where, directory, prelude, sink)[1]


def scan_and_check(
    interface: Interface, where: Workspace, directory: Path, prelude: Sequence[Path], sink: Sink
) -> tuple[VendorSources, tuple[str, ...]]:
    """A vendor's definitions as they stand in its sources, and the functions that they implement."""
    expected = c_interface(interface)
    operators = {function.name for function in interface.functions if function.family != "runtime"}
    if prelude:
        sources = scan_vendor(directory, prelude, sink)
        implemented = check_impl(expected, sources, sink)
    else:
        with tempfile.TemporaryDirectory(prefix="diopigen-") as folder:
            made = []
            for path, content in emit_headers.emit(interface, where.templates).items():
                target = Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                made.append(target)
            sources = scan_vendor(directory, made, sink)
            implemented = check_impl(expected, sources, sink)
    return sources, tuple(name for name in implemented if name in operators)


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


def first_spec(paths: Sequence[Path], sink: Sink, include_dirs: Sequence[Path] = ()) -> Plan | None:
    """The files of a first spec for the headers at `paths`; None after an error."""
    actual = parse_headers(paths, sink=sink, include_dirs=include_dirs)
    return None if actual is None else spec_files(actual, [path.name for path in paths], sink)
