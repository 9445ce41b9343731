"""A vendor's folder to its conversion table and shims, over the rooms `header`, `config` and `emit`; writes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from diopigen.api import Workspace
from diopigen.chip.model import Chip
from diopigen.config.entries import ConfigFile
from diopigen.config.model import ResolvedConfig
from diopigen.config.reader import read_config
from diopigen.config.resolve import resolve
from diopigen.diagnostics import Note, Sink, Span
from diopigen.emit.adaptor.library import emit_adaptors
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.header.compare import count
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.signature import c_interface
from diopigen.header.vendor_file import VendorFunction
from diopigen.header.vendor_sources import VendorSources, check_impl, signature_differences
from diopigen.ir.model import Interface
from diopigen.spec.text_file import read_regular
from diopigen.vendor.chip_config import check_chip, chip_of, limited, settings_of
from diopigen.vendor.scan import Public, scan

CONFIG_NAME = "convert_config.yaml"

RULES: Rules = {
    "adaptors-no-config": Rule(NOTE, "a vendor that needs conversions has a convert_config.yaml"),
    "adaptors-namespace": Rule(ERROR, "a vendor's functions are in the namespace impl::VENDOR"),
    "adaptors-other-vendor": Rule(ERROR, "a folder holds the shims of one vendor"),
    "adaptors-signature": Rule(ERROR, "a shim has the signature of the spec, which the headers declare as well"),
    "adaptors-exported": Rule(WARNING, "a function with a shim is not exported by the vendor itself"),
}

MARK = "vendor.json"
"""The generated file that says whose shims a folder holds."""

_MACRO = re.compile(r"[A-Z][A-Z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor's folder, its name as in `impl::NAME`, and its configuration; None for the one in the folder."""

    directory: Path
    name: str
    config: Path | None = None


def vendor_name(directory: Path) -> str:
    """The name that a folder `impl/<vendor>` says."""
    return directory.name if directory.name not in ("", ".", "..") else directory.resolve().name


def resolved_config(public: Public, where: Workspace, vendor: Vendor, sink: Sink) -> ResolvedConfig | None:
    """The table of a vendor, checked by every rule; None where its folder or configuration cannot be read."""
    return read_vendor(public, where, vendor, sink, sink)[1]


def read_vendor(
    public: Public, where: Workspace, vendor: Vendor, sink: Sink, rule_sink: Sink
) -> tuple[tuple[VendorFunction, ...] | None, ResolvedConfig | None]:
    """The operators that a vendor's sources define, exported or in `impl::VENDOR`, and its table, from one scan; None
    for what cannot be read. Findings of the scan go to `sink`, those of the rules to `rule_sink`."""
    interface = public.interface
    found = Sink()
    sources = scan(public, where, vendor.directory, found)
    sink.extend(found.sorted())
    config = _config(vendor, rule_sink) if vendor.directory.is_dir() else None
    if found.has_errors:
        return None, None
    operators = {function.name for function in interface.functions if function.family != "runtime"}
    definitions = tuple(each for each in sources.functions if each.function.name in operators)
    if config is None:
        return definitions, None
    own = _own_functions(vendor, sources, rule_sink)
    implemented = check_impl(public.declared, replace(sources, functions=own), rule_sink)
    chip = chip_of(vendor.directory, vendor.name, interface, rule_sink)
    return definitions, resolved_for(interface, vendor.name, config, implemented, rule_sink, chip)


def resolved_for(
    interface: Interface,
    vendor: str,
    config: ConfigFile,
    implemented: Iterable[str],
    sink: Sink,
    chip: Chip | None = None,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> ResolvedConfig:
    """The table of a vendor whose functions are known; `chip` says what holds where the configuration says nothing,
    `renamed` are old names of functions to new ones."""
    names = tuple(implemented)
    outermost = None if chip is None else settings_of(chip, interface)
    found = resolve(config, interface, vendor, names, sink, outermost=outermost, renamed=renamed)
    if chip is not None:
        found = replace(found, functions=limited(found.functions, chip, interface))
        check_chip(chip, {rule.function: rule for rule in found.functions}, found.implemented, sink)
    return found


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
    """The configuration in a vendor's folder, else in the root of the tree `.../impl/<vendor>` that it is in."""
    candidates = [directory / CONFIG_NAME]
    if directory.parent.name == "impl":
        candidates.append(directory.parent.parent / CONFIG_NAME)
    return next((path for path in candidates if path.exists()), None)


def _is_own(found: VendorFunction, vendor: str) -> bool:
    return found.namespace == f"impl::{vendor}" or bool(_MACRO.match(found.namespace))


def shimmed_functions(sources: VendorSources, vendor: str) -> frozenset[str]:
    """The functions that shims can call and must: those in `impl::VENDOR` that are not exported as well."""
    exported = {found.function.name for found in sources.functions if not found.namespace}
    own = {found.function.name for found in sources.functions if _is_own(found, vendor)}
    return frozenset(own - exported)


def _own_functions(vendor: Vendor, sources: VendorSources, sink: Sink) -> tuple[VendorFunction, ...]:
    """The definitions that shims can call: those in `impl::VENDOR`.

    A namespace in capitals is a macro that the vendor's build sets, and is taken for it. What the vendor exports by
    its public name needs no shim and must not get one.
    """
    report = Reporter(RULES, sink)
    namespace = f"impl::{vendor.name}"
    own = tuple(f for f in sources.functions if _is_own(f, vendor.name))
    exported = [f for f in sources.functions if not f.namespace]
    others = [f for f in sources.functions if f.namespace and f not in own]
    names = {found.function.name for found in own}
    for found in exported:
        if found.function.name in names:
            message = f"'{found.function.name}' is defined outside {namespace} too, so that it gets no shim"
            report("adaptors-exported", message, found.function.span, fix="keep the one in the namespace")
    if own or not (exported or others):
        return tuple(f for f in own if f.function.name not in {e.function.name for e in exported})
    first = (others or exported)[0]
    spaces = dict.fromkeys(f.namespace or "the global namespace" for f in [*others, *exported])
    message = f"none of the {count(len(sources.functions), 'function')} is in the namespace {namespace}"
    notes = [Note(f"found in {', '.join(spaces)}", first.function.span)]
    fix = f"put them into 'namespace {namespace}', or give the vendor's name with --vendor"
    report("adaptors-namespace", message, Span(str(vendor.directory)), notes=notes, fix=fix)
    return sources.functions  # so that the rules about what is implemented do not add to it


def check_signatures(public: Public, resolved: ResolvedConfig, sink: Sink) -> None:
    """Reports functions with shims that the headers declare with another signature than the spec."""
    report = Reporter(RULES, sink)
    expected = c_interface(public.interface)
    spec = {function.name: function for function in expected.functions}
    for declared in public.declared.functions:
        if declared.name in resolved.implemented and declared.name in spec:
            differences = signature_differences(spec[declared.name], declared, expected)
            if differences:
                message = f"'{declared.name}' {', '.join(differences)}, as the spec has it"
                fix = "give the spec of these headers with --spec (diopigen import-proto), or the headers of the spec"
                report("adaptors-signature", message, declared.span, fix=fix)


def shims(interface: Interface, where: Workspace, resolved: ResolvedConfig) -> Plan:
    """The files of a vendor: its shims, and the mark that keeps other vendors out of the folder."""
    plan = emit_adaptors(interface.settled(), resolved, where.templates)
    mark = json.dumps({"vendor": resolved.vendor}) + "\n"
    return Plan((*plan.files, PlannedFile(MARK, mark.encode(), (resolved.file,), "adaptors")))


def check_owner(out: Path, resolved: ResolvedConfig, sink: Sink) -> None:
    """Reports where a folder holds the shims of another vendor, which must not be overwritten."""
    path = out / MARK
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError):
        return
    owner = found.get("vendor") if isinstance(found, dict) else None
    if isinstance(owner, str) and owner != resolved.vendor:
        message = f"'{out}' holds the shims of {owner}, not of {resolved.vendor}"
        fix = "give another folder with --out, or leave --out away"
        Reporter(RULES, sink)("adaptors-other-vendor", message, Span(str(path)), fix=fix)
