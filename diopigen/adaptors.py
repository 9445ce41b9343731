"""A vendor's folder to its conversion table and shims, over the rooms `header`, `config` and `emit`; writes nothing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.config.entries import ConfigFile
from diopigen.config.model import ResolvedConfig
from diopigen.config.reader import read_config
from diopigen.config.resolve import resolve
from diopigen.diagnostics import Note, Sink, Span
from diopigen.emit import headers as emit_headers
from diopigen.emit.adaptors import composite_functions
from diopigen.header.compare import count
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.signature import c_interface
from diopigen.header.vendor import VendorFunction, VendorSources, check_impl, scan_vendor
from diopigen.ir.model import Interface

CONFIG_NAME = "convert_config.yaml"

RULES: Rules = {
    "adaptors-no-config": Rule(NOTE, "a vendor that needs conversions has a convert_config.yaml"),
    "adaptors-namespace": Rule(ERROR, "a vendor's functions are in the namespace impl::VENDOR"),
    "adaptors-exported": Rule(WARNING, "a function with a shim is not exported by the vendor itself"),
}

_MACRO = re.compile(r"[A-Z][A-Z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor's folder, its name as in `impl::NAME`, and its configuration; None for what is found beside it."""

    directory: Path
    name: str
    config: Path | None = None


def vendor_name(directory: Path) -> str:
    """The name that a folder `impl/<vendor>` says."""
    return directory.name if directory.name not in ("", ".", "..") else directory.resolve().name


def resolved_config(
    interface: Interface, where: Workspace, vendor: Vendor, prelude: Sequence[Path], sink: Sink
) -> ResolvedConfig | None:
    """The table of a vendor, judged by every rule; None where its folder or configuration cannot be read.

    Without `prelude` the public headers are made from the spec for the time of the scan.
    """
    if not vendor.directory.is_dir():
        _scan(interface, where, vendor, prelude, sink)
        return None
    sources = _scan(interface, where, vendor, prelude, sink)
    config = _config(vendor, sink)
    if sources is None or config is None:
        return None
    own = _own_functions(vendor, sources, sink)
    implemented = check_impl(c_interface(interface), replace(sources, functions=own), sink)
    composites = composite_functions(interface)
    return resolve(config, interface, vendor.name, implemented, sink, composites=composites)


def _config(vendor: Vendor, sink: Sink) -> ConfigFile | None:
    """The vendor's configuration; an empty one, with a note, where it has none."""
    path = vendor.config or _found_config(vendor.directory)
    if path is None:
        message = f"'{vendor.directory}' has no {CONFIG_NAME}, so that nothing is converted"
        fix = "nothing, where the kernels take every dtype and layout; docs/adaptors.md says how to write one"
        Reporter(RULES, sink)("adaptors-no-config", message, Span(str(vendor.directory)), fix=fix)
        return ConfigFile(CONFIG_NAME)
    return read_config(path, str(path), sink)


def _found_config(directory: Path) -> Path | None:
    """The configuration in a vendor's folder, else in the root of the tree `.../impl/<vendor>` that it stands in."""
    places = [directory / CONFIG_NAME]
    if directory.parent.name == "impl":
        places.append(directory.parent.parent / CONFIG_NAME)
    return next((path for path in places if path.exists()), None)


def _scan(
    interface: Interface, where: Workspace, vendor: Vendor, prelude: Sequence[Path], sink: Sink
) -> VendorSources | None:
    """The vendor's definitions; None where its folder cannot be read."""
    found = Sink()
    if prelude:
        sources = scan_vendor(vendor.directory, prelude, found)
    else:
        with _public_headers(interface, where) as made:
            sources = scan_vendor(vendor.directory, made, found)
    sink.extend(found.sorted())
    return None if found.has_errors else sources


@contextmanager
def _public_headers(interface: Interface, where: Workspace) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory(prefix="diopigen-") as folder:
        made = []
        for path, content in emit_headers.emit(interface, where.templates).items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            made.append(target)
        yield made


def _own_functions(vendor: Vendor, sources: VendorSources, sink: Sink) -> tuple[VendorFunction, ...]:
    """The definitions that shims can call: those in `impl::VENDOR`.

    A namespace in capitals is a macro that the vendor's build sets, and is taken for it. What the vendor exports by
    its public name needs no shim and must not get one.
    """
    report = Reporter(RULES, sink)
    wanted = f"impl::{vendor.name}"
    own = tuple(f for f in sources.functions if f.namespace == wanted or _MACRO.match(f.namespace))
    exported = [f for f in sources.functions if not f.namespace]
    others = [f for f in sources.functions if f.namespace and f not in own]
    names = {found.function.name for found in own}
    for found in exported:
        if found.function.name in names:
            message = f"'{found.function.name}' is defined outside {wanted} too, so that it gets no shim"
            report("adaptors-exported", message, found.function.span, fix="keep the one in the namespace")
    if own or not (exported or others):
        return tuple(f for f in own if f.function.name not in {e.function.name for e in exported})
    first = (others or exported)[0]
    spaces = dict.fromkeys(f.namespace or "the global namespace" for f in [*others, *exported])
    message = f"none of the {count(len(sources.functions), 'function')} is in the namespace {wanted}"
    notes = [Note(f"found in {', '.join(spaces)}", first.function.span)]
    fix = f"put them into 'namespace {wanted}', or give the vendor's name with --vendor"
    report("adaptors-namespace", message, Span(str(vendor.directory)), notes=notes, fix=fix)
    return ()
