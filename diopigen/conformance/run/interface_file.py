"""A file with the interface, for programs that a worker starts."""

from __future__ import annotations

import atexit
import pickle
import tempfile

from diopigen.ir.model import Interface

_written: list[tuple[Interface, str]] = []


def interface_file(interface: Interface) -> str:
    """The path of a file with the pickled interface, which lives as long as this process; the same one each time."""
    for known, name in _written:
        if known is interface:
            return name
    file = tempfile.NamedTemporaryFile(suffix=".interface")  # noqa: SIM115  (removed at exit)
    pickle.dump(interface, file)
    file.flush()
    atexit.register(file.close)
    _written.append((interface, file.name))
    return file.name
