"""`dispatch_calls.py RUNTIME LIBRARY NAME` makes the calls of the function NAME below and prints what came of them as
JSON. A program, because the library reads its environment once in a process."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from diopigen.conformance.run.binding import Host, Library, Types
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.memory import Arena
from diopigen.console import Session as Console

ROOT = Path(__file__).resolve().parents[2]


class DispatchedLibrary:
    """The library, and tensors on the device of its vendor."""

    def __init__(self, runtime: Path, library: Path) -> None:
        interface = Console(str(ROOT / "specs")).load().interface
        enums = {value.name: value.value for enum in interface.enums for value in enum.values}
        statuses = interface.enum("diopiError_t")
        assert statuses is not None
        self.statuses = {value.value: value.name for value in statuses.values}
        self.host = Host(runtime)
        self.library = Library(library, Types(interface), interface.functions)
        self.arena = Arena(self.host, {d.name: enums[d.enum] for d in interface.dtypes})

    def tensor(self, values: Any, dtype: str = "float32", layout: str = "contiguous") -> Block:
        return self.arena.tensor(np.asarray(values, dtype=dtype), dtype, layout)

    def call(self, name: str, *arguments: Any) -> str:
        status = self.library.functions[name](self.arena.context, *arguments)
        return self.statuses[status]

    def values(self, block: Block) -> Any:
        return block.elements(self.arena.read(block)).tolist()

    def intact(self, block: Block) -> bool:
        """Returns whether nothing but the elements of a tensor has changed."""
        now = self.arena.read(block)
        block.elements(now)[...] = block.elements(block.before)
        return bool(np.array_equal(now, block.before))

    def error(self) -> str:
        return self.library.text("diopiGetLastErrorString")

    def count(self, what: str, name: str | None) -> int:
        function = getattr(self.library.library, what)
        function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p]
        return int(function(None if name is None else name.encode()))

    def unary(self, name: str, values: Any, dtype: str = "float32", layout: str = "contiguous") -> dict[str, Any]:
        source, target = self.tensor(values, dtype, layout), self.tensor(np.zeros_like(values), dtype, layout)
        status = self.call(name, target.handle, source.handle)
        return {
            "status": status,
            "values": self.values(target),
            "intact": self.intact(target) and self.values(source) == np.asarray(values).tolist(),
            "error": self.error(),
            "fallbacks": self.count("diopigenFallbackCount", name),
            "differences": self.count("diopigenDifferenceCount", name),
        }


def unary(session: DispatchedLibrary) -> Any:
    return {
        "vendor": session.unary("diopiNeg", [1.0, -2.0]),
        "dtype": session.unary("diopiNeg", [1.0, -2.0], "float64"),
        "declined": session.unary("diopiSqrt", [[4.0, 9.0], [16.0, 25.0]], layout="strided"),
        "missing": session.unary("diopiAbs", [-1.0, 2.0]),
        "failing": session.unary("diopiFloor", [1.5]),
        "throwing": session.unary("diopiCeil", [1.5]),
        "wrong": session.unary("diopiExp", [0.0, 1.0]),
        "nowhere": session.unary("diopiSign", [1.5]),
        "refused": session.unary("diopiSqrt", [4], "int32"),
        "total": session.count("diopigenFallbackCount", None),
    }


def mismatched(session: DispatchedLibrary) -> Any:
    source, target = session.tensor([1.0, -2.0]), session.tensor([0.0, 0.0, 0.0])
    status = session.call("diopiNeg", target.handle, source.handle)
    return {"status": status, "error": session.error()}


def repeated(session: DispatchedLibrary) -> Any:
    """Legal calls of one operator, and between them calls that differ in one thing and are not legal."""
    two, three, double = session.tensor([1.0, -2.0]), session.tensor([0.0] * 3), session.tensor([0.0] * 2, "float64")
    out, longer = session.tensor([0.0] * 2), session.tensor([1.0] * 3)
    legal = [(out, two), (three, longer), (out, two), (out, two)]
    illegal = [(three, two), (out, longer), (double, two), (None, two)]
    results = []
    for right, wrong in zip(legal, illegal, strict=True):
        for pair in (right, wrong, right):
            handles = [None if block is None else block.handle for block in pair]
            results.append(session.call("diopiNeg", *handles))
    return results


def many(session: DispatchedLibrary) -> Any:
    inputs = [session.tensor([1.0, 2.0]), session.tensor([3.0])]
    handles = (ctypes.c_void_p * 2)(*[block.handle for block in inputs])
    out = session.tensor(np.zeros(3))
    status = session.call("diopiCat", out.handle, handles, 2, 0)
    retained = [handles[0], handles[1]] == [block.handle.value for block in inputs]
    return {"status": status, "values": session.values(out), "handles kept": retained}


def aliased(session: DispatchedLibrary) -> Any:
    block = session.tensor([-1.0, 2.0, -3.0])
    same = session.arena.alias(block, (3,))
    status = session.call("diopiAbs", same.handle, block.handle)
    inplace = session.tensor([-4.0])
    session.call("diopiAbsInp", inplace.handle)
    return {"status": status, "values": session.values(block), "in place": session.values(inplace)}


def created(session: DispatchedLibrary) -> Any:
    source, mask = session.tensor([0.0, 5.0, 0.0, 7.0]), session.tensor([1, 1, 1, 1], "bool")
    slot = ctypes.c_void_p()
    status = session.call("diopiMaskedSelect", ctypes.byref(slot), source.handle, mask.handle)
    device = ctypes.c_int()
    session.host.library.diopiGetTensorDevice(slot, ctypes.byref(device))
    values, dtype, _ = session.arena.fetch(slot)
    return {"status": status, "values": values.tolist(), "dtype": dtype, "device": device.value}


def compared(session: DispatchedLibrary) -> Any:
    source, slot, flag = session.tensor([0.0, 5.0]), ctypes.c_void_p(), ctypes.c_bool(True)
    session.call("diopiNonzero", ctypes.byref(slot), source.handle)
    found = session.arena.fetch(slot)[0].shape
    session.call("diopiEqual", ctypes.byref(flag), source.handle, source.handle)
    return {
        "exp": session.unary("diopiExp", [0.0, 1.0]),
        "neg": session.unary("diopiNeg", [0.0, 1.0]),
        "nonzero": [session.count("diopigenDifferenceCount", "diopiNonzero"), list(found)],
        "equal": [session.count("diopigenDifferenceCount", "diopiEqual"), flag.value],
        "total": session.count("diopigenDifferenceCount", None),
    }


def threads(session: DispatchedLibrary) -> Any:
    """First calls from several threads at once: the libraries are loaded once."""
    counts: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        arena = Arena(session.host, session.arena.dtypes, session.arena.device)
        source, target = (arena.tensor(np.full(8, -1.0, dtype="float32"), "float32") for _ in range(2))
        for _ in range(200):
            session.library.functions["diopiAbs"](arena.context, target.handle, source.handle)
        right = bool(np.all(target.elements(arena.read(target)) == 1))
        arena.close()
        with lock:
            counts.append(right)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"right": counts, "fallbacks": session.count("diopigenFallbackCount", "diopiAbs")}


CALLS: dict[str, Callable[[DispatchedLibrary], Any]] = {
    function.__name__: function for function in (unary, mismatched, repeated, many, aliased, created, compared, threads)
}


def main() -> int:
    runtime, library, name = sys.argv[1:]
    session = DispatchedLibrary(Path(runtime), Path(library))
    result = CALLS[name](session)
    session.arena.close()
    session.library.close()
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
