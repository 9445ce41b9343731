"""A file with the interface, for programs that a worker starts."""

from __future__ import annotations

import atexit
import pickle
import tempfile

from diopigen.ir.model import Interface


def interface_file(interface: Interface) -> str:
    """The path of a file with the pickled interface, which lives as long as this process."""
    file = tempfile.NamedTemporaryFile(suffix=".interface")  # noqa: SIM115  (removed at exit)
    pickle.dump(interface, file)
    file.flush()
    atexit.register(file.close)
    return file.name
