"""A vendor's tree, read: which functions have a kernel, which a skeleton, and what its configuration demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from diopigen.api import Workspace
from diopigen.config.model import FunctionRule
from diopigen.diagnostics import Sink
from diopigen.vendor.scan import Public, written_kernels
from diopigen.vendor.shims import Vendor, read_vendor, vendor_name


@dataclass(frozen=True, slots=True)
class VendorTree:
    """`implemented` are the functions with a kernel, `skeletons` those with a definition that does nothing yet.
    `rules` is empty where the configuration cannot be resolved."""

    name: str
    directory: Path
    implemented: frozenset[str]
    skeletons: frozenset[str]
    rules: Mapping[str, FunctionRule]


def read_tree(public: Public, where: Workspace, directory: Path, sink: Sink) -> VendorTree | None:
    """The tree of `impl/<vendor>`; None where its sources cannot be read. What is wrong with the sources goes to
    `sink`; what is wrong with the configuration is the business of `diopigen adaptors`."""
    vendor = Vendor(directory, vendor_name(directory))
    found, resolved = read_vendor(public, where, vendor, sink, Sink())
    if found is None:
        return None
    rules = {} if resolved is None else {rule.function: rule for rule in resolved.functions}
    return VendorTree(vendor.name, directory, *written_kernels(public, found), rules)
