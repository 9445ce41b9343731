"""Values of tvm-ffi's C ABI (tvm/ffi/c_api.h) and tensors of DLPack through ctypes, as a caller in C makes them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from diopigen.ir.load import known_dtypes

NONE, INT, BOOL, FLOAT, OPAQUE_POINTER, DATA_TYPE = 0, 1, 2, 3, 4, 5
DL_TENSOR, RAW_STRING, SMALL_STRING, STATIC_OBJECT, STRING, SHAPE, TENSOR, ARRAY = 7, 8, 11, 64, 65, 69, 70, 71
CPU, PINNED = 1, 3
"""DLPack's devices for memory of the host, and for such that a device has been told of."""

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5}


class DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DlTensor(ctypes.Structure):
    """DLTensor; the device is two integers."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Value(ctypes.Union):
    _fields_ = (
        ("v_int64", ctypes.c_int64),
        ("v_float64", ctypes.c_double),
        ("v_ptr", ctypes.c_void_p),
        ("v_dtype", DataType),
        ("v_bytes", ctypes.c_char * 8),
    )


class Any_(ctypes.Structure):
    """TVMFFIAny."""

    _anonymous_ = ("value",)
    _fields_ = (("type_index", ctypes.c_int32), ("small_length", ctypes.c_uint32), ("value", _Value))


class Header(ctypes.Structure):
    """TVMFFIObject: what every object begins with."""

    _fields_ = (
        ("references", ctypes.c_uint64),
        ("type_index", ctypes.c_int32),
        ("padding", ctypes.c_uint32),
        ("deleter", ctypes.c_void_p),
    )


class _ShapeObject(ctypes.Structure):
    _fields_ = (("header", Header), ("data", ctypes.POINTER(ctypes.c_int64)), ("size", ctypes.c_size_t))


class _ListObject(ctypes.Structure):
    _fields_ = (
        ("header", Header),
        ("data", ctypes.POINTER(Any_)),
        ("size", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("deleter", ctypes.c_void_p),
    )


class Bytes(ctypes.Structure):
    """TVMFFIByteArray."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))


class ErrorCell(ctypes.Structure):
    """The first members of TVMFFIErrorCell, which follows the header of an error."""

    _fields_ = (("kind", Bytes), ("message", Bytes))


def data_type(dtype: str) -> DataType:
    """The DLPack dtype of a name of the interface. Raises `KeyError` for those that DLPack has none for."""
    if dtype == "bool":
        return DataType(6, 8, 1)
    if (info := known_dtypes().get(dtype)) and info.dlpack:
        return DataType(info.dlpack, 8 * info.bytes, 1)
    word = dtype.rstrip("0123456789")
    return DataType(_CODES[word], int(dtype[len(word) :]), 1)


def dl_tensor(
    data: int | None, device: int, dtype: str, shape: Sequence[int], strides: Sequence[int] | None
) -> DlTensor:
    """A tensor of DLPack over memory that the caller keeps alive; strides in elements, None for contiguous."""
    size = (ctypes.c_int64 * len(shape))(*shape)
    steps = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
    return DlTensor(data, device, 0, len(shape), data_type(dtype), size, steps, 0)


class Values:
    """Arguments of one call, and the objects that they point to."""

    def __init__(self) -> None:
        self.keep: list[Any] = []

    def none(self) -> Any_:
        return Any_(NONE)

    def integer(self, number: int) -> Any_:
        return Any_(INT, 0, _Value(v_int64=number))

    def boolean(self, flag: bool) -> Any_:
        return Any_(BOOL, 0, _Value(v_int64=int(flag)))

    def real(self, number: float) -> Any_:
        return Any_(FLOAT, 0, _Value(v_float64=number))

    def pointer(self, address: int | None) -> Any_:
        """An opaque pointer; None for null."""
        return Any_(OPAQUE_POINTER, 0, _Value(v_ptr=address)) if address else self.none()

    def dtype(self, name: str) -> Any_:
        return Any_(DATA_TYPE, 0, _Value(v_dtype=data_type(name)))

    def text(self, content: bytes) -> Any_:
        held = ctypes.create_string_buffer(content)
        self.keep.append(held)
        return Any_(RAW_STRING, 0, _Value(v_ptr=ctypes.addressof(held)))

    def tensor(self, tensor: DlTensor) -> Any_:
        self.keep.append(tensor)
        return Any_(DL_TENSOR, 0, _Value(v_ptr=ctypes.addressof(tensor)))

    def shape(self, numbers: Sequence[int]) -> Any_:
        data = (ctypes.c_int64 * len(numbers))(*numbers)
        return self._object(SHAPE, _ShapeObject(_header(SHAPE), data, len(numbers)))

    def array(self, items: Sequence[Any_]) -> Any_:
        data = (Any_ * len(items))(*items)
        return self._object(ARRAY, _ListObject(_header(ARRAY), data, len(items), len(items), None))

    def _object(self, kind: int, created: Any) -> Any_:
        self.keep.append(created)
        return Any_(kind, 0, _Value(v_ptr=ctypes.addressof(created)))


def _header(kind: int) -> Header:
    """Of an object that lives as long as the call: its references never reach zero."""
    return Header((1 << 32) + (1 << 30), kind, 0, None)


def tensor_of(value: Any_) -> DlTensor:
    """The tensor of DLPack inside a tensor of tvm-ffi."""
    return DlTensor.from_address(int(value.v_ptr) + ctypes.sizeof(Header))


def items_of(value: Any_) -> list[Any_]:
    """The elements of an Array."""
    created = _ListObject.from_address(int(value.v_ptr))
    return [created.data[k] for k in range(created.size)]


def message_of(error: int) -> tuple[str, str]:
    """Kind and message of an error object."""
    cell = ErrorCell.from_address(error + ctypes.sizeof(Header))
    kind, message = (ctypes.string_at(part.data, part.size) for part in (cell.kind, cell.message))
    return kind.decode(), message.decode(errors="replace")
