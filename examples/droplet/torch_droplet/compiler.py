"""What `torch.compile` asks of the device: there is no code generator for its backend inductor."""

from __future__ import annotations

from typing import Any

from torch_droplet.indices import device_name


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
