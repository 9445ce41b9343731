"""Support of `torch.compile`: the backend `diopi`, and no code generator for its backend inductor."""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .indices import device_name


class _Absent(type):
    """Whatever inductor asks of the class, it learns which backends there are."""

    def __getattr__(cls, name: str) -> Any:
        raise RuntimeError(
            f"the backend inductor of torch.compile generates no code for {device_name()}: use"
            ' torch.compile(backend="diopi"), or backend="aot_eager", which call the kernels of the device'
        )


class NoCodegen(metaclass=_Absent):
    """In place of the classes that generate code."""


Scheduling = PythonWrapperCodegen = CppWrapperCodegen = WrapperFxCodegen = NoCodegen


class _Distribution(importlib.metadata.Distribution):
    """The entry point of an installed package, for one that is on PYTHONPATH alone. Of two distributions of one name
    PyTorch takes the first, which is the installed one."""

    def read_text(self, filename: str) -> str | None:
        """Digest of the files of an installed package."""
        name = str(__package__).replace("_", "-")
        texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n",
            "entry_points.txt": f"[{_GROUP}]\n{_BACKEND} = {_FUNCTION}\n",
        }
        return texts.get(filename)

    def locate_file(self, path: Any) -> Path:
        """Below the folder of the package."""
        return Path(__file__).parent.parent / str(path)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds no modules."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """None."""

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        """Those of the name that is asked for, which may be any."""
        distribution = _Distribution()
        if getattr(context, "name", None) in (None, distribution.name):
            yield distribution


_GROUP, _BACKEND, _FUNCTION = "torch_dynamo_backends", "diopi", f"{__package__}.graphs:backend"


def install() -> None:
    """Lets `torch.compile` find the backend by its name, without loading it."""
    sys.meta_path.append(_Finder())
    registry = sys.modules.get("torch._dynamo.backends.registry")
    if registry is not None:  # it may have looked already
        entry = importlib.metadata.EntryPoint(_BACKEND, _FUNCTION, _GROUP)
        registry._BACKENDS.setdefault(_BACKEND, entry)
    if "torch._dynamo.device_interface" in sys.modules:  # else with the backend
        from . import dynamo_device

        dynamo_device.register()
