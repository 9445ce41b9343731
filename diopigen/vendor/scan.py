"""Definitions in a vendor's sources, compared with the public interface: that of the spec, or of headers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.diagnostics import Sink
from diopigen.emit.c import headers as emit_headers
from diopigen.emit.c_text import declarator
from diopigen.emit.operands import is_operator
from diopigen.header.cdecl import CFunction, CInterface
from diopigen.header.clang import parse_headers
from diopigen.header.signature import c_interface
from diopigen.header.vendor_file import VendorFunction
from diopigen.header.vendor_sources import VendorSources, check_impl, scan_vendor
from diopigen.ir.model import Function, Header, Interface
from diopigen.vendor.bodies import skeletons


@dataclass(frozen=True)
class Public:
    """The public interface of a vendor's tree: what the spec has for the functions that are declared, and the
    declarations. `headers` are those that declare them; without any they are written from the spec for each scan."""

    interface: Interface
    declared: CInterface
    headers: tuple[Path, ...] = ()

    def kernels(self) -> tuple[str, ...]:
        """The functions that a vendor writes kernels for: operators and collectives."""
        known = {function.name: function for function in self.interface.functions}
        names = (function.name for function in self.declared.functions)
        return tuple(name for name in names if name not in known or has_kernel(known[name]))


def has_kernel(function: Function) -> bool:
    """Operators and collectives: what `check-impl` and `coverage` count."""
    return is_operator(function) or function.is_collective


def spec_interface(interface: Interface) -> Public:
    """The interface as the spec has it."""
    return Public(interface, c_interface(interface))


def public_interface(interface: Interface, headers: Sequence[Path], sink: Sink) -> Public | None:
    """The interface as the spec has it, or where there are headers (or folders of headers) the part of it that they
    declare, each function in the header that declares it. None after an error in a header."""
    if not headers:
        return spec_interface(interface)
    paths = _with_included(headers, interface)
    declared = parse_headers(paths, sink=sink, docs=False)
    if declared is None:
        return None
    files = {function.name: function.header for function in declared.functions}
    order = dict.fromkeys([*(header.file for header in interface.headers), *files.values()])
    known = {header.file: header for header in interface.headers}
    functions = [function for function in interface.functions if function.name in files]
    parts = []
    for file in order:
        own = tuple(function for function in functions if files[function.name] == file)
        if own or file == interface.types_header:
            header = known.get(file) or Header(file, "", (), (), (), own[0].span)
            parts.append(replace(header, functions=own))
    return Public(replace(interface, headers=tuple(parts)), declared, tuple(paths))


def _with_included(headers: Sequence[Path], interface: Interface) -> list[Path]:
    """The headers, those of folders, and next to them headers of the interface that one of them includes."""
    found: list[Path] = []
    for path in headers:
        found += sorted(path.glob("*.h")) or [path]
    names = {header.file for header in interface.headers}
    for path in found:  # which grows
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        included = [path.parent / name for name in sorted(names) if f'{name}"' in text or f"{name}>" in text]
        found += [one for one in included if one.is_file() and one not in found]
    return found


def scan(public: Public, where: Workspace, directory: Path, sink: Sink, macros: Sequence[str] = ()) -> VendorSources:
    """A vendor's definitions as in its sources; `macros` are those of its build."""
    if public.headers:
        return scan_vendor(directory, public.headers, sink, macros=macros)
    with _written_headers(public, where) as headers:
        return scan_vendor(directory, headers, sink, macros=macros, written=headers[-1].parent)


def check_vendor(public: Public, where: Workspace, directory: Path, sink: Sink) -> tuple[str, ...]:
    """Compares a vendor's definitions with the interface; returns the defined functions in its order."""
    return scan_and_check(public, where, directory, sink)[1]


def scan_and_check(
    public: Public, where: Workspace, directory: Path, sink: Sink, macros: Sequence[str] = ()
) -> tuple[VendorSources, tuple[str, ...]]:
    """A vendor's definitions as in its sources, and the functions that they define, without those of the runtime."""
    sources = scan(public, where, directory, sink, macros)
    runtime = {function.name for function in public.interface.functions if function.family == "runtime"}
    defined = check_impl(public.declared, sources, sink)
    return sources, tuple(name for name in defined if name not in runtime)


def written_kernels(public: Public, functions: Sequence[VendorFunction]) -> tuple[frozenset[str], frozenset[str]]:
    """Of the functions that a vendor writes kernels for: those with a kernel, and those with a skeleton."""
    names = frozenset(public.kernels())
    empty = skeletons(functions) & names
    return frozenset(found.function.name for found in functions) & names - empty, empty


@contextmanager
def _written_headers(public: Public, where: Workspace) -> Iterator[list[Path]]:
    """The public headers in a folder of their own, without their comments, which take most of the time to write."""
    interface = public.interface
    bare = replace(interface, headers=tuple(replace(header, functions=()) for header in interface.headers))
    declarations = "".join(f"{_declaration(function)};\n" for function in public.declared.functions)
    with tempfile.TemporaryDirectory(prefix="diopigen-") as folder:
        headers = []
        for path, content in emit_headers.emit(bare, where.templates).items():
            headers.append(Path(folder) / path)
            headers[-1].parent.mkdir(parents=True, exist_ok=True)
            headers[-1].write_bytes(content)
        headers.append(Path(folder) / "declarations.h")
        headers[-1].write_text(f'#ifdef __cplusplus\nextern "C" {{\n{declarations}}}\n#endif\n', encoding="utf-8")
        yield headers


def _declaration(function: CFunction) -> str:
    params = ", ".join(declarator(param.type, param.name) for param in function.params)
    return f"{declarator(function.returns, function.name)}({params})"
