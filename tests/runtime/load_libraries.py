"""Loads libdiopirt.so and a vendor's library as the conformance runner does, and calls through both.

Usage: load_libraries.py LIBDIOPIRT LIBDIOPI_IMPL. Runs in a process of its own, because the libraries are loaded into
its global name space. Prints "loaded and called" when everything holds.
"""

from __future__ import annotations

import ctypes
import os
import sys

HOST, DEVICE = 0, 1
SUCCESS, ERROR_OCCURRED, NO_MALLOC, DTYPE_NOT_SUPPORTED = 0, 1, 6, 1000
FLOAT32, FLOAT64 = 9, 10


class Size(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))


class Scalar(ctypes.Structure):
    _fields_ = (("stype", ctypes.c_uint), ("fval", ctypes.c_double))


def error_text(runtime: ctypes.CDLL) -> str:
    text = ctypes.c_char_p()
    assert runtime.diopiHostGetLastErrorText(ctypes.byref(text)) == SUCCESS
    assert text.value is not None
    return text.value.decode()


def main(runtime_path: str, vendor_path: str) -> None:
    runtime = ctypes.CDLL(runtime_path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    vendor = ctypes.CDLL(vendor_path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    context, tensor = ctypes.c_void_p(), ctypes.c_void_p()
    shape = (ctypes.c_int64 * 2)(2, 3)
    size = Size(shape, 2)

    def create(dtype: int, device: int) -> int:
        status: int = runtime.diopiHostCreateTensor(
            context, ctypes.byref(tensor), ctypes.byref(size), None, ctypes.c_int64(0), dtype, device
        )
        return status

    assert runtime.diopiHostCreateContext(ctypes.byref(context)) == SUCCESS
    assert create(FLOAT64, DEVICE) == NO_MALLOC
    assert vendor.initLibrary() == 0
    assert runtime.diopiHostEnableRecords(True) == SUCCESS

    # An enumerator that C lets through, although no C++ program may hold it.
    assert create(FLOAT64, 2) == ERROR_OCCURRED
    assert error_text(runtime) == (
        "diopiHostCreateTensor: parameter 'device' is 2, neither diopi_host nor diopi_device"
    )

    assert create(FLOAT64, DEVICE) == SUCCESS
    value = Scalar(FLOAT64, 0.75)
    assert vendor.diopiFill(context, tensor, ctypes.byref(value)) == SUCCESS
    values = (ctypes.c_double * 6)()
    read = runtime.diopiHostCopyFromStorage(context, tensor, values, ctypes.c_uint64(48))
    assert read == SUCCESS, error_text(runtime)
    assert list(values) == [0.75] * 6
    assert vendor.diopiFill(context, None, ctypes.byref(value)) == ERROR_OCCURRED
    assert error_text(runtime) == "diopiGetTensorElemSize: parameter 'th' is null"
    assert runtime.diopiHostDestroyTensor(tensor) == SUCCESS

    assert create(FLOAT32, DEVICE) == SUCCESS
    assert vendor.diopiFill(context, tensor, ctypes.byref(value)) == DTYPE_NOT_SUPPORTED
    assert runtime.diopiHostDestroyTensor(tensor) == SUCCESS

    count = ctypes.c_int64()
    assert runtime.diopiHostGetRecordCount(ctypes.byref(count)) == SUCCESS
    assert count.value == 3
    assert runtime.diopiHostDestroyContext(context) == SUCCESS
    assert vendor.finalizeLibrary() == 0
    print("loaded and called")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
