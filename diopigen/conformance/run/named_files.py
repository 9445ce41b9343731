"""Files that a library writes because the user names them in a variable of the environment."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from diopigen.ir.model import Interface


def named_files(interface: Interface, environment: Mapping[str, str]) -> list[str]:
    """The files and folders that variables of the spec (`written: true`) name. A file that does not exist is created,
    empty: only what exists can be allowed. A name that depends on the process allows its folder."""
    variables = [one for part in interface.environment for one in part.variables if one.written]
    found = []
    for variable in variables:
        for name in (variable.name, *variable.aliases):
            value = environment.get(name)
            if value:
                found.append(_allowed(Path(value), is_folder=variable.kind == "folder"))
    return found


def _allowed(path: Path, *, is_folder: bool) -> str:
    if "%" in path.name:
        return str(path.parent)
    with contextlib.suppress(OSError):  # the library finds out, and says so
        if is_folder:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.touch()
    return str(path)
