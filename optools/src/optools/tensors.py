"""The operands of a call on the host: bytes of their memory, and how tensors view it.

A copy by `clone` loses strides, overlapping elements and which operands share memory. Here the range of each storage
that a call uses is copied once, and tensors are views of these copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Tensor = Any
"""`torch.Tensor`: torch counts as Any where it is not installed."""

_ALIGNED = 16
"""Bytes of the largest element."""


class Unsupported(Exception):
    """A tensor that cannot be copied; the text says which kind."""


@dataclass(frozen=True, slots=True)
class View:
    """A tensor: which copy it views, and how. `offset` counts elements of `dtype` from the start of the copy."""

    content: int
    dtype: Any
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: str


@dataclass(frozen=True, slots=True)
class Random:
    """A generator, as its state was before the call."""

    state: Any
    device: str


@dataclass(frozen=True, slots=True)
class Device:
    """A device that this torch may not know: calls may have been captured on another machine."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Frozen:
    """Arguments with a `View` in place of each tensor and a `Random` in place of each generator."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    contents: list[Tensor] = field(repr=False)
    """Flat tensors on the CPU: one for each storage, or of its bytes where views of it differ in their dtype."""

    @property
    def nbytes(self) -> int:
        """Bytes of all copies."""
        return sum(content.numel() * content.element_size() for content in self.contents)

    def thaw(
        self, device: str | None = "cpu", convert: Callable[[Any], Any] | None = None, change: Any = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments again, on a device (None: where each was). `convert` maps dtypes, `change` the flat copies."""
        created: dict[tuple[int, str], Tensor] = {}

        def tensor(view: View) -> Tensor:
            target = _target(view.device, device)
            dtype = convert(view.dtype) if convert is not None else view.dtype
            content = self.contents[view.content]
            if content.dtype != view.dtype and dtype != view.dtype:  # bytes, viewed as several dtypes
                alone = _viewed(content, view).to(dtype)
                return alone.to(target) if target != "cpu" else alone
            key = (view.content, target)
            if key not in created:
                flat = content if change is None else change(content)
                created[key] = flat.to(device=target, dtype=dtype if content.dtype == view.dtype else None, copy=True)
            return _viewed(created[key], view, dtype)

        def replace(value: Any) -> Any:
            if isinstance(value, View):
                return tensor(value)
            if isinstance(value, Random):
                return generator(value, _target(value.device, device))
            if isinstance(value, (torch.device, Device)):
                return torch.device(_target(str(value), device))
            if isinstance(value, torch.dtype) and convert is not None:
                return convert(value)
            return value

        args, kwargs = (mapped(one, replace) for one in (list(self.args), dict(self.kwargs)))
        if device == "cpu" and kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return args, kwargs

    def views(self) -> dict[str, View]:
        """All tensors by where they are: `0`, `1[2]`, `out`."""
        found: dict[str, View] = {}
        walk(list(self.args), dict(self.kwargs), lambda name, value: _note(found, name, value))
        return found


def _note(found: dict[str, View], name: str, value: Any) -> None:
    if isinstance(value, View):
        found[name] = value


def _target(own: str, device: str | None) -> str:
    """Device of a copied tensor of device `own`: numbers and indices on the CPU stay there."""
    return own if device is None or own == "cpu" else device


def generator(state: Random, device: str) -> Any:
    """A generator in the state, where the device has generators of the same kind; else one with its seed."""
    own = torch.Generator(device=device)
    if torch.device(state.device).type == torch.device(device).type:
        own.set_state(state.state)
    else:
        own.manual_seed(int(torch.hash_tensor(state.state).item()) if hasattr(torch, "hash_tensor") else 0)
    return own


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same lists, tuples and dicts with every leaf changed."""
    if isinstance(value, (list, tuple)):
        items = [mapped(item, change) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    return change(value)


def walk(args: Any, kwargs: Mapping[str, Any], visit: Callable[[str, Any], None]) -> None:
    """Visits every leaf with its name: the index or the name of the argument, with the index in a list."""

    def inner(name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                inner(f"{name}[{index}]", item)
        else:
            visit(name, value)

    for index, value in enumerate(args):
        inner(str(index), value)
    for name, value in kwargs.items():
        inner(name, value)


def tensors_of(value: Any) -> list[Tensor]:
    """All tensors in lists, tuples and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    return []


def plain(tensor: Tensor) -> bool:
    """Returns whether a tensor has elements at strides in memory."""
    return (
        tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and not tensor.is_quantized
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def extent(tensor: Tensor) -> tuple[int, int]:
    """The elements of the storage that the tensor uses, as a range."""
    first = tensor.storage_offset()
    if tensor.numel() == 0:
        return first, first
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return first, first + last + 1


def freeze(args: Any, kwargs: Mapping[str, Any]) -> Frozen:
    """Copies the operands to the host. Raises `Unsupported`."""
    ranges: dict[int, list[Any]] = {}
    numbers: dict[int, int] = {}
    for tensor in tensors_of([args, kwargs]):
        if not plain(tensor):
            raise Unsupported(f"{str(tensor.layout).rpartition('.')[2]} tensors on {tensor.device.type}")
        if tensor.is_conj() or tensor.is_neg():
            raise Unsupported("lazily conjugated tensors")
        key = tensor.untyped_storage()._cdata
        size = tensor.element_size()
        low, high = (bound * size for bound in extent(tensor))
        known = ranges.get(key)
        if known is None:
            numbers[key] = len(numbers)
            ranges[key] = [low, high, tensor.dtype, tensor]
            continue
        if known[0] == known[1]:
            known[0], known[1], known[3] = low, high, tensor
        elif low != high:
            known[0], known[1] = min(known[0], low), max(known[1], high)
        if known[2] != tensor.dtype:
            known[2] = None

    for known in ranges.values():
        if known[2] is None:
            known[0] -= known[0] % _ALIGNED

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            key = value.untyped_storage()._cdata
            start = ranges[key][0]
            offset = (value.storage_offset() * value.element_size() - start) // value.element_size()
            offset = max(offset, 0) if value.numel() else 0
            return View(numbers[key], value.dtype, tuple(value.shape), tuple(value.stride()), offset, str(value.device))
        if isinstance(value, torch.Generator):
            return Random(value.get_state().clone(), str(value.device))
        if isinstance(value, (torch._C.ScriptObject, torch.UntypedStorage)):
            raise Unsupported(f"arguments of type {type(value).__name__}")
        return value

    frozen_args, frozen_kwargs = mapped(tuple(args), leaf), mapped(dict(kwargs), leaf)
    return Frozen(frozen_args, frozen_kwargs, [_copied(*one) for one in ranges.values()])


def _copied(low: int, high: int, dtype: Any, tensor: Tensor) -> Tensor:
    """The bytes of a storage from `low` to `high`, on the CPU."""
    size = tensor.element_size()
    if dtype is not None and low % size == 0:
        flat = torch.as_strided(tensor, ((high - low) // size,), (1,), low // size)
    else:
        storage = tensor.untyped_storage()
        everything = torch.as_strided(tensor, (storage.nbytes() // size,), (1,), 0).view(torch.uint8)
        flat = everything[low:high]
    return flat.to("cpu", copy=True)


def _viewed(flat: Tensor, view: View, dtype: Any = None) -> Tensor:
    """The view of a copy."""
    if flat.dtype != (dtype or view.dtype):
        size = view.dtype.itemsize
        flat = flat[: flat.numel() - flat.numel() % size].view(view.dtype)
    return torch.as_strided(flat, view.shape, view.stride, view.offset)


def host(tensor: Tensor) -> Tensor:
    """The elements of a tensor on the CPU, contiguous; never its own memory."""
    return tensor.detach().resolve_conj().resolve_neg().to("cpu", copy=True).contiguous()


def equal_bits(one: Tensor, other: Tensor) -> bool:
    """Returns whether two tensors of the CPU have the same dtype, shape and bits."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.numel() == 0:
        return True
    own, its = (flat_bytes(value) for value in (one, other))
    return bool(torch.equal(own, its))


def flat_bytes(tensor: Tensor) -> Tensor:
    """The bytes of a tensor of the CPU."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)
