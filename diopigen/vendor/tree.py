"""A vendor's tree, read: what its sources define, what of that are skeletons, and what its configuration demands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.api import Workspace
from diopigen.config.model import FunctionRule
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.vendor.bodies import skeletons
from diopigen.vendor.shims import Vendor, read_vendor, vendor_name


@dataclass(frozen=True, slots=True)
class VendorTree:
    """`implemented` are the functions with a definition, skeletons included. `rules` is empty where the
    configuration cannot be resolved."""

    name: str
    directory: Path
    implemented: frozenset[str]
    skeletons: frozenset[str]
    rules: Mapping[str, FunctionRule]


def read_tree(
    interface: Interface, where: Workspace, directory: Path, prelude: Sequence[Path], sink: Sink
) -> VendorTree | None:
    """The tree of `impl/<vendor>`; None where its sources cannot be read. What is wrong with the sources goes to
    `sink`; what is wrong with the configuration is the business of `diopigen adaptors`."""
    vendor = Vendor(directory, vendor_name(directory))
    found, resolved = read_vendor(interface, where, vendor, prelude, sink, Sink())
    if found is None:
        return None
    rules = {} if resolved is None else {rule.function: rule for rule in resolved.functions}
    implemented = frozenset(item.function.name for item in found)
    return VendorTree(vendor.name, directory, implemented, skeletons(found), rules)
