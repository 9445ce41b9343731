"""Lets code written for CUDA run on this device: `import diopi_torch.as_cuda`, or `DIOPI_AS_CUDA=1`.

From then on, in this process, "cuda" means this device where PyTorch takes one: `torch.cuda`, `.cuda()`,
`device="cuda"`, `torch.autocast("cuda")`, `GradScaler`, generators, `torch.load` and pinned memory. A tensor still says
that its device is that of the vendor; `is_cuda` is true. A function of `torch.cuda` without a counterpart raises
`RuntimeError` with the reason.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device

from . import libraries
from .indices import device_name
from .missing import without_counterpart

_NAME = device_name()
device_module = torch.get_device_module(_NAME)
_DEVICE = torch.device


def translated(value: Any) -> Any:
    """A device or its name, with this device for CUDA; anything else as it is."""
    if isinstance(value, str):
        return _NAME + value[4:] if value == "cuda" or value.startswith("cuda:") else value
    if isinstance(value, _DEVICE) and value.type == "cuda":
        return _DEVICE(_NAME, value.index) if value.index is not None else _DEVICE(_NAME)
    return value


def _by_name(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, with the named argument translated: what costs least where it is called most."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if name in options:
            options[name] = translated(options[name])
        return function(*arguments, **options)

    return call


def _translated_call(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return function(*(translated(one) for one in arguments), **{name: translated(one) for name, one in options.items()})


def _everywhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with all arguments translated."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        return _translated_call(function, arguments, options)

    return call


def _class(original: Any) -> Any:
    """A class of C whose constructor translates: what it makes, and what it says of instances, is the original's."""

    class Meta(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, original)

        def __getattr__(cls, name: str) -> Any:
            return getattr(original, name)

        def __call__(cls, *arguments: Any, **options: Any) -> Any:
            return _translated_call(original, arguments, options)

    names = {"__doc__": original.__doc__, "__module__": "torch", "__qualname__": original.__name__}
    return Meta(original.__name__, (), names)


def _takes_a_device(name: str) -> bool:
    return any(
        argument.name == "device"
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        for argument in schema.arguments
    )


def _without_counterpart(existing: types.FunctionType, name: str, reason: str) -> Any:
    @functools.wraps(existing)  # PyTorch unwraps some of them when it is imported
    def call(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"torch.cuda.{name} has no counterpart on {_NAME}: {reason}")

    return call


def _replace_module() -> None:
    """Functions of `torch.cuda` and its modules become those of the device; the modules stay, since they are imported
    by name."""
    reasons = without_counterpart()
    modules = {
        "": device_module,
        **{name: getattr(device_module, name) for name in ("graphs", "memory", "random", "nvtx")},
    }
    for folder, source in modules.items():
        target = getattr(torch.cuda, folder) if folder else torch.cuda
        for name in getattr(source, "__all__", ()):
            value = getattr(source, name)
            if not isinstance(value, types.ModuleType):
                setattr(target, name, value)
    for name, reason in reasons.items():
        existing = getattr(torch.cuda, name, None)
        if isinstance(existing, types.FunctionType):
            setattr(torch.cuda, name, _without_counterpart(existing, name, reason))
    torch.cuda._lazy_init = device_module.init
    torch.cuda._lazy_call = device_module._lazy_call
    torch.cuda._is_in_bad_fork = device_module._is_in_bad_fork
    torch.cuda.Stream, torch.cuda.Event = _class(torch.Stream), _class(torch.Event)
    torch.cuda.streams.Stream, torch.cuda.streams.Event = torch.cuda.Stream, torch.cuda.Event
    device_module.init()
    torch.cuda._initialized = True


def _replace_constructors() -> None:
    _device._device_constructors()  # keeps the originals, which `with torch.device(...)` looks for
    for name in dir(torch):
        function = getattr(torch, name)
        if isinstance(function, types.BuiltinFunctionType) and _takes_a_device(name):
            setattr(torch, name, _by_name(function, "device"))
    for name in ("tensor", "as_tensor", "asarray", "from_file", "sparse_coo_tensor"):
        setattr(torch, name, _by_name(getattr(torch, name), "device"))
    for name in ("device", "Generator", "Stream", "Event"):
        setattr(torch, name, _class(getattr(torch, name)))
    torch.set_default_device = _everywhere(torch.set_default_device)
    torch.load = _by_name(torch.load, "map_location")
    torch.get_device_module = _everywhere(torch.get_device_module)
    torch.serialization.register_package(1, lambda _: None, _deserialized)


def _deserialized(storage: Any, location: str) -> Any:
    """Loads tensors that were saved on CUDA onto this device."""
    if not isinstance(location, str) or not location.startswith("cuda"):
        return None
    return torch.serialization._deserialize(_NAME, storage, translated(location))


def _replace_methods() -> None:
    for name in ("to", "pin_memory", "is_pinned"):
        setattr(torch.Tensor, name, _everywhere(getattr(torch.Tensor, name)))
    for name in ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "new_empty_strided"):
        setattr(torch.Tensor, name, _by_name(getattr(torch.Tensor, name), "device"))
    is_here = property(lambda tensor: tensor.device.type == _NAME, doc="Whether the tensor is on the device.")
    torch.Tensor.is_cuda = is_here
    torch.Tensor.cuda = getattr(torch.Tensor, _NAME)
    torch.nn.Module.cuda = getattr(torch.nn.Module, _NAME)
    torch.nn.Module.to = _everywhere(torch.nn.Module.to)
    torch.nn.Module.to_empty = _everywhere(torch.nn.Module.to_empty)
    sequence = torch.nn.utils.rnn.PackedSequence
    sequence.to = _everywhere(sequence.to)
    sequence.cuda = getattr(sequence, _NAME)
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        storage.cuda = getattr(storage, _NAME)


def _replace_precision() -> None:
    """Mixed precision: the classes of `torch.cuda.amp` are subclasses of these."""
    torch.autocast.__init__ = _everywhere(torch.autocast.__init__)
    scaler = torch.amp.GradScaler
    first = scaler.__init__

    @functools.wraps(first)
    def made(self: Any, device: Any = "cuda", *arguments: Any, **options: Any) -> None:
        first(self, translated(device), *arguments, **options)

    scaler.__init__ = made
    for owner, names in (
        (torch, ("get_autocast_dtype", "set_autocast_dtype", "set_autocast_enabled")),
        (torch.amp, ("custom_bwd", "custom_fwd", "is_autocast_available")),
        (torch.amp.autocast_mode, ("custom_bwd", "custom_fwd", "is_autocast_available")),
    ):
        for name in names:
            setattr(owner, name, _everywhere(getattr(owner, name)))
    enabled = torch.is_autocast_enabled
    torch.is_autocast_enabled = lambda device_type="cuda": enabled(translated(device_type))
    torch.get_autocast_gpu_dtype = lambda: torch.get_autocast_dtype(_NAME)


def _replace_distributed() -> None:
    """There is no backend of collectives for the device."""
    if not torch.distributed.is_available():
        return
    start = torch.distributed.init_process_group

    @functools.wraps(start)
    def init_process_group(backend: Any = None, *arguments: Any, **options: Any) -> Any:
        if isinstance(backend, str) and "nccl" in backend:
            raise RuntimeError(f"the backend nccl has no counterpart on {_NAME}: use gloo, over tensors of the CPU")
        return start(backend, *arguments, **options)

    torch.distributed.init_process_group = init_process_group


_replace_methods()
_replace_constructors()
_replace_precision()
_replace_module()
_replace_distributed()
libraries.install(libraries.AS_CUDA)
