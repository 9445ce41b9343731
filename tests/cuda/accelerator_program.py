"""A framework's backend in small: it takes the table of diopigen/accelerator.h and works with devices and events.

`accelerator_program.py RUNTIME LIBRARY REGISTRY SCENARIO`; REGISTRY is a library with diopigenRegisterAccelerator,
which keeps the table in `registered`. A program of its own, since the emulation takes the number of devices and the
way of streams from the environment.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence

VALUES = (1.0, 2.0, 3.0, 4.0)
INT64, FLOAT32, DEVICE = 6, 9, 1
OUT_OF_MEMORY, INVALID_DEVICE, INVALID_HANDLE, NOT_READY = 2, 101, 400, 600

Pointer = ctypes.POINTER(ctypes.c_void_p)


def function(*arguments: type) -> type:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)


class Table(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint64),
        ("device_count", function(ctypes.POINTER(ctypes.c_int32))),
        ("set_device", function(ctypes.c_int32)),
        ("create_event", function(Pointer)),
        ("destroy_event", function(ctypes.c_void_p)),
        ("record_event", function(ctypes.c_void_p, ctypes.c_void_p)),
        ("wait_event", function(ctypes.c_void_p, ctypes.c_void_p)),
        ("synchronize_event", function(ctypes.c_void_p)),
        ("query_event", function(ctypes.c_void_p, ctypes.POINTER(ctypes.c_bool))),
        ("elapsed_time", function(ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))),
        ("memory_info", function(ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64))),
    )


class Size(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))


class Storage:
    """A context of the runtime, which makes its stream on the device that is current at first, and a tensor there."""

    def __init__(self, values: Sequence[float] = VALUES) -> None:
        self.count = len(values)
        self.context, self.tensor = ctypes.c_void_p(), ctypes.c_void_p()
        good(host.diopiHostCreateContext(ctypes.byref(self.context)))
        self.stream = ctypes.c_void_p()
        good(host.diopiGetStream(self.context, ctypes.byref(self.stream)))
        good(new_tensor(self, self.tensor, len(values), FLOAT32))
        array = (ctypes.c_float * len(values))(*values)
        good(host.diopiHostCopyToStorage(self.context, self.tensor, array, ctypes.c_uint64(4 * len(values))))

    def negate(self) -> int:
        return int(library.diopiNegInp(self.context, self.tensor))

    def read(self, tensor: ctypes.c_void_p | None = None) -> list[float]:
        """A tensor's values, by a copy on this place's stream."""
        array = (ctypes.c_float * self.count)()
        size = ctypes.c_uint64(ctypes.sizeof(array))
        good(host.diopiHostCopyFromStorage(self.context, tensor or self.tensor, array, size))
        return list(array)


def new_tensor(device: Storage, tensor: ctypes.c_void_p, count: int, dtype: int) -> int:
    size = Size((ctypes.c_int64 * 1)(count), 1)
    created = (ctypes.byref(tensor), ctypes.byref(size), None, ctypes.c_int64(0), dtype, DEVICE)
    return int(host.diopiHostCreateTensor(device.context, *created))


def good(status: int) -> None:
    assert status == 0, (status, text())


def text() -> str:
    """Messages of the runtime and the device about the latest failure."""
    said = []
    for name in ("diopiHostGetLastErrorText", "diopiHostGetDeviceErrorText"):
        words = ctypes.c_char_p()
        assert getattr(host, name)(ctypes.byref(words)) == 0
        said.append((words.value or b"").decode())
    return "; ".join(said)


def event() -> ctypes.c_void_p:
    created = ctypes.c_void_p()
    good(table.create_event(ctypes.byref(created)))
    return created


def is_done(which: ctypes.c_void_p) -> bool:
    done = ctypes.c_bool()
    good(table.query_event(which, ctypes.byref(done)))
    return done.value


def free_bytes(device: int) -> int:
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    good(table.memory_info(device, ctypes.byref(free), ctypes.byref(total)))
    assert 0 < free.value <= total.value
    return free.value


def streams() -> None:
    """Eight streams with chains of operators that are queued in turn: each gives what it gives alone, on any device."""
    count, chain = 4096, 40
    storages = [Storage([float(i % 7 + k) for i in range(count)]) for k in range(8)]
    for step in range(chain):
        for number in storages:
            good(number.negate() if step % 4 else library.diopiReluInp(number.context, number.tensor))
    for k, number in enumerate(storages):
        expected = [float(i % 7 + k) for i in range(count)]
        for step in range(chain):
            expected = [-x for x in expected] if step % 4 else [max(x, 0.0) for x in expected]
        assert number.read() == expected, k


def order() -> None:
    """Streams are lazy: a stream that waits for an event sees what was queued before it, and nothing behind it."""
    first, second, third = Storage(), Storage(), Storage()
    behind = event()
    good(first.negate())
    good(table.record_event(behind, first.stream))
    assert third.read(first.tensor) == [1, 2, 3, 4]  # without synchronisation
    good(table.wait_event(second.stream, behind))
    good(first.negate())
    good(table.record_event(behind, first.stream))  # the wait is for the earlier place
    assert second.read(first.tensor) == [-1, -2, -3, -4]
    good(table.synchronize_event(behind))
    assert third.read(first.tensor) == [1, 2, 3, 4]
    good(table.destroy_event(behind))


def progress() -> None:
    """An event that was never recorded is done; one behind work is not, until that is."""
    storage = Storage()
    start, end = event(), event()
    assert is_done(start)
    milliseconds = ctypes.c_double(-1)
    assert table.elapsed_time(start, end, ctypes.byref(milliseconds)) == INVALID_HANDLE
    good(table.record_event(start, storage.stream))
    good(storage.negate())
    good(table.record_event(end, storage.stream))
    assert not is_done(end)
    assert table.elapsed_time(start, end, ctypes.byref(milliseconds)) == NOT_READY
    for _ in range(10):
        if is_done(end):
            break
    assert is_done(end) and is_done(start)
    good(table.elapsed_time(start, end, ctypes.byref(milliseconds)))
    assert milliseconds.value >= 0
    good(storage.negate())  # no error of a question stays behind


def devices() -> None:
    """Two devices: each thread's work is done on its current one, and memory says which it is of."""
    count = ctypes.c_int32()
    good(table.device_count(ctypes.byref(count)))
    assert count.value == 2
    before = [free_bytes(0), free_bytes(1)]
    home = Storage()
    good(table.set_device(1))
    away = Storage((0.0,) * 4)
    assert free_bytes(0) < before[0] and free_bytes(1) < before[1]
    assert home.negate() != 0  # its stream is of device 0
    good(away.negate())
    good(host.diopiHostSynchronize(away.context))
    good(host.diopiHostDestroyTensor(home.tensor))  # memory of another device than the current one
    assert free_bytes(0) == before[0]
    assert table.set_device(2) == INVALID_DEVICE
    assert "choose a device: cudaErrorInvalidDevice: invalid device ordinal" in text()
    foreign = event()
    assert table.record_event(foreign, home.stream) == INVALID_HANDLE
    good(table.set_device(0))
    fresh = Storage()
    good(host.diopiHostCopyStorage(fresh.context, away.tensor, fresh.tensor))
    good(host.diopiHostSynchronize(fresh.context))
    good(table.set_device(1))
    assert away.read() == [1, 2, 3, 4]


def memory() -> None:
    """Too little memory is a status with CUDA's text, also inside of an operator, and the next call works.

    What was freed on a stream can be had again.
    """
    count = 1024  # 4 KiB of the 64 KiB that the device has
    small, large = (numbered(size) for size in (count, 2 * count))
    rejected = ctypes.c_void_p()
    assert new_tensor(small[0], rejected, 16 * count, FLOAT32) != 0
    assert "cudaErrorMemoryAllocation: out of memory" in text(), text()
    library.diopiGetLastErrorString.restype = ctypes.c_char_p
    assert sort(*large) != 0
    assert library.diopiGetLastErrorString() == b"diopiSort: allocate a buffer: out of memory"
    for tensor in (large[0].tensor, large[1].tensor, large[2]):
        good(host.diopiHostDestroyTensor(tensor))
    # Each call frees its buffers on the stream, where nothing is done before a synchronisation.
    for _ in range(16):
        good(sort(*small))
    provided, ordered, _ = small
    assert provided.read(ordered.tensor) == [float(i - count + 1) for i in range(count)]


def numbered(count: int) -> tuple[Storage, Storage, ctypes.c_void_p]:
    """Numbers that fall, and room for them in order and for their places."""
    provided, ordered = (Storage([float(-i) for i in range(count)]) for _ in range(2))
    indices = ctypes.c_void_p()
    good(new_tensor(provided, indices, count, INT64))
    return provided, ordered, indices


def sort(provided: Storage, ordered: Storage, indices: ctypes.c_void_p) -> int:
    dimension, falls, stable = ctypes.c_int64(0), ctypes.c_bool(False), ctypes.c_bool(True)
    outputs = (ordered.tensor, indices)
    return int(library.diopiSort(provided.context, *outputs, provided.tensor, dimension, falls, ctypes.byref(stable)))


def late() -> None:
    """An index out of range writes nothing and stops nothing: the next wait for its stream says so, once."""
    first, second = Storage(), Storage()
    wrong, right, out = (ctypes.c_void_p() for _ in range(3))
    for tensor, indices in ((wrong, (0, 9, 1, 2)), (right, (3, 2, 1, 0))):
        good(new_tensor(first, tensor, 4, INT64))
        array = (ctypes.c_int64 * 4)(*indices)
        good(host.diopiHostCopyToStorage(first.context, tensor, array, ctypes.c_uint64(32)))
    good(new_tensor(first, out, 4, FLOAT32))

    def select(indices: ctypes.c_void_p) -> int:
        return int(library.diopiIndexSelect(first.context, out, first.tensor, ctypes.c_int64(0), indices))

    good(select(right))
    if os.environ.get("DIOPI_CUDA_CHECKS") == "now":
        assert select(wrong) != 0
        library.diopiGetLastErrorString.restype = ctypes.c_char_p
        assert b"diopiIndexSelect: C2" in library.diopiGetLastErrorString()
        assert first.read(out) == [4, 3, 2, 1]
        return
    good(select(wrong))
    good(first.negate())
    good(second.negate())
    assert second.read() == [-1, -2, -3, -4]
    assert host.diopiHostSynchronize(first.context) != 0
    assert "diopiIndexSelect: C2" in text(), text()
    assert first.read(out) == [4, 3, 2, 1] and first.read() == [-1, -2, -3, -4]
    # The host may run far ahead; the first finding is the one that is told.
    good(select(wrong))
    for _ in range(1500):
        good(select(right))
    assert host.diopiHostSynchronize(first.context) != 0
    assert first.read(out) == [-4, -3, -2, -1]


SCENARIOS: dict[str, Callable[[], None]] = {
    "streams": streams, "order": order, "progress": progress, "devices": devices, "memory": memory,
    "late": late,
}  # fmt: skip


if __name__ == "__main__":
    runtime, vendor, registry, scenario = sys.argv[1:]
    retained = ctypes.CDLL(registry, ctypes.RTLD_GLOBAL)
    host = ctypes.CDLL(runtime, ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(vendor, ctypes.RTLD_GLOBAL)
    good(library.initLibrary())
    table = Table.in_dll(retained, "registered")
    SCENARIOS[scenario]()
    print("passed")
