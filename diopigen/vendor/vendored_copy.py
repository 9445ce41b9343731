"""The copy of diopigen in a vendor's tree, as it would be written now."""

from __future__ import annotations

import json
from pathlib import Path

from diopigen.api import Workspace
from diopigen.emit.plan import Plan
from diopigen.emit.vendor.tree import MARK
from diopigen.emit.vendor.vendored import emit_vendored
from diopigen.ir.model import Interface
from diopigen.package import VENDORED_FOLDER, package_root


def planned_copy(root: Path, interface: Interface, where: Workspace) -> Plan | None:
    """The files of `VENDORED_FOLDER` in the tree at `root`; None where the tree has no such copy."""
    if not (root / VENDORED_FOLDER).is_dir():
        return None
    try:
        mark = json.loads((root / MARK).read_text(encoding="utf-8"))
        added = {name: mark.get(name) is True for name in ("torch", "tvm")}
    except (OSError, ValueError, AttributeError):
        added = {"torch": False, "tvm": False}
    return emit_vendored(interface, where.templates, package_root(), torch_too=added["torch"], tvm_too=added["tvm"])
