"""The files that a vendor writes, checked as they are in a tree: a chip's file, and a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.reader import parse_chip, read_chip
from diopigen.config.reader import parse_config
from diopigen.config.vendor_kernels import RULES as ABOUT_KERNELS
from diopigen.diagnostics import Diagnostic, Sink
from diopigen.ir.model import Interface
from diopigen.spec.nodes import MappingNode
from diopigen.spec.yaml_reader import parse_yaml
from diopigen.vendor.chip_config import RULES as ABOUT_BOTH
from diopigen.vendor.chip_config import chip_of
from diopigen.vendor.scan import spec_interface
from diopigen.vendor.shims import Vendor, read_vendor, resolved_for, vendor_name

Check = Callable[[str], Sequence[Diagnostic]]
"""The findings of a text."""


def checker(path: str, text: str, interface: Interface, where: Workspace, renamed: Mapping[str, str]) -> Check:
    """Checker for the file `path`, by its content: a chip's file is a mapping, a configuration a list. `renamed` are
    old names of functions to new ones."""
    if isinstance(parse_yaml(text, path, Sink()), MappingNode):
        return lambda changed: _chip(changed, path, interface, renamed)
    return _configuration(path, interface, where, renamed)


def _chip(text: str, path: str, interface: Interface, renamed: Mapping[str, str]) -> Sequence[Diagnostic]:
    sink = Sink()
    parse_chip(text, path, interface, sink, renamed)
    return sink.sorted()


def _configuration(path: str, interface: Interface, where: Workspace, renamed: Mapping[str, str]) -> Check:
    """With the kernels and the chip of the vendor whose configuration it is, where that can be told."""
    directory = _vendor_of(Path(path))
    name = vendor_name(directory) if directory is not None else "vendor"
    implemented = {function.name for function in interface.functions}
    chip = None
    idle = {*ABOUT_KERNELS, *ABOUT_BOTH}
    if directory is not None:
        found = read_vendor(spec_interface(interface), where, Vendor(directory, name), Sink(), Sink())[0]
        chip = chip_of(directory, name, interface, Sink())
        if found is not None:
            implemented = {definition.function.name for definition in found}
            idle = set()
    if chip is None:
        near = [file for file in Path(path).parent.glob("*.yaml") if isinstance(_root(file), MappingNode)]
        chips = [read_chip(file, file.as_posix(), interface, Sink()) for file in near]
        chip = next((one for one in chips if one is not None), None)

    def check(text: str) -> Sequence[Diagnostic]:
        sink = Sink()
        config = parse_config(text, path, sink)
        if config is not None:
            resolved_for(interface, name, config, implemented, sink, chip, renamed)
        return [finding for finding in sink.sorted() if finding.code not in idle]

    return check


def _root(file: Path) -> object:
    try:
        return parse_yaml(file.read_text(encoding="utf-8"), "", Sink())
    except (OSError, ValueError):
        return None


def _vendor_of(path: Path) -> Path | None:
    """The folder `impl/NAME` of a configuration that is in it, or in the root of a tree with one vendor."""
    folder = path.absolute().parent
    if folder.parent.name == "impl":
        return path.parent
    vendors = [one for one in (folder / "impl").glob("*") if one.is_dir()] if (folder / "impl").is_dir() else []
    return path.parent / "impl" / vendors[0].name if len(vendors) == 1 else None
