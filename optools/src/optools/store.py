"""Captured calls on disk: a line for each call, and each content of memory once, named by its digest.

run.json        what ran: versions, device, command, rank
calls.jsonl     one line for each call
contents/ab/... raw bytes
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import torch

from optools.schema import overload_of
from optools.tensors import Device, Frozen, Random, View

FORMAT = 1
_NAMED = (torch.dtype, torch.layout, torch.memory_format)


class FolderError(Exception):
    """A folder without captures, or with captures that cannot be read."""


def rank() -> int | None:
    """The rank of this process, where there are several."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() and os.environ.get("WORLD_SIZE", "1") != "1" else None


def ranked(folder: Path) -> Path:
    """The folder of this process: one for each rank, and for each process that another one has started."""
    own = rank()
    if own is not None:
        return folder / f"rank{own}"
    return folder if multiprocessing.parent_process() is None else folder / f"process{os.getpid()}"


def accelerator() -> str:
    """The type of the machine's accelerator; `cpu` where there is none."""
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return found.type if found is not None else "cpu"


def encoded(value: Any, digests: Sequence[str]) -> Any:
    """A leaf or a tree as JSON."""

    def leaf(one: Any) -> Any:
        if isinstance(one, View):
            own = {"shape": one.shape, "stride": one.stride, "offset": one.offset, "device": one.device}
            return {"tensor": digests[one.content], "dtype": str(one.dtype)[6:], **own}
        if isinstance(one, Random):
            return {"generator": bytes(one.state.tolist()).hex(), "device": one.device}
        if isinstance(one, _NAMED):
            return {"torch": str(one)}
        if isinstance(one, torch.device):
            return {"torch_device": str(one)}
        if isinstance(one, complex):
            return {"complex": [one.real, one.imag]}
        if isinstance(one, float) and (one != one or one in (float("inf"), float("-inf"))):
            return {"float": repr(one)}
        if one is None or isinstance(one, (bool, int, float, str)):
            return one
        return {"text": repr(one)}

    def tree(one: Any) -> Any:
        if isinstance(one, tuple):
            return [tree(item) for item in one]
        if isinstance(one, list):
            return [tree(item) for item in one]
        if isinstance(one, dict):
            return {name: tree(item) for name, item in one.items()}
        return leaf(one)

    return tree(value)


@dataclass(frozen=True)
class Stored:
    """A captured call, as its line says."""

    folder: Path
    line: dict[str, Any]

    @property
    def number(self) -> int:
        """The index of the call in its folder."""
        return int(self.line["call"])

    @property
    def op(self) -> str:
        """The overload."""
        return str(self.line["op"])

    @property
    def has_operands(self) -> bool:
        """Returns whether the memory of the operands was stored, and not only their shapes."""
        return bool(self.line.get("stored"))

    @property
    def func(self) -> Any:
        """The overload to call. Raises `LookupError`."""
        return overload_of(self.op)

    def operands(self) -> Frozen:
        """The arguments. Raises `FolderError` where they were not stored."""
        return self._frozen(self.line["args"], self.line["kwargs"])

    def outputs(self) -> Frozen:
        """Result of the call: one argument for each result."""
        return self._frozen(self.line["outputs"], {})

    def written(self) -> Frozen:
        """The written arguments after the call, by name."""
        return self._frozen([], self.line.get("written", {}))

    def _frozen(self, args: Any, kwargs: Any) -> Frozen:
        if not self.has_operands:
            reason = self.line.get("why", "only shapes were captured")
            raise FolderError(f"call {self.number} ({self.op}) has no operands: {reason}")
        contents: list[Any] = []
        numbers: dict[tuple[str, str], int] = {}

        def leaf(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            if "tensor" in value:
                dtype = getattr(torch, value["dtype"])
                digest = value["tensor"]
                stored = digest.partition("-")[2] or value["dtype"]
                key = (digest, stored)
                if key not in numbers:
                    numbers[key] = len(contents)
                    contents.append(read_content(self.folder, digest, getattr(torch, stored)))
                shape, stride = tuple(value["shape"]), tuple(value["stride"])
                return View(numbers[key], dtype, shape, stride, value["offset"], value["device"])
            if "generator" in value:
                state = torch.tensor(list(bytes.fromhex(value["generator"])), dtype=torch.uint8, device="cpu")
                return Random(state, value["device"])
            if "torch" in value:
                return getattr(torch, value["torch"].rpartition(".")[2])
            if "torch_device" in value:
                return Device(value["torch_device"])
            if "complex" in value:
                return complex(*value["complex"])
            if "float" in value:
                return float(value["float"])
            if "text" in value:
                raise FolderError(f"call {self.number} ({self.op}) has an argument that no file holds: {value['text']}")
            return value

        def tree(value: Any) -> Any:
            if isinstance(value, list):
                return [tree(item) for item in value]
            return leaf(value)

        return Frozen(tuple(tree(args)), {name: tree(value) for name, value in kwargs.items()}, contents)


class Store:
    """Writes a folder of captures. Contents are stored once; beyond `budget` bytes only shapes are."""

    def __init__(self, folder: Path, budget: int) -> None:
        self.folder = folder
        self.budget = budget
        self.used = 0
        self.over = 0
        """Calls whose operands were beyond the budget."""
        self._known: set[str] = set()
        self._lines: TextIO | None = None

    def open(self, folder: Path | None = None) -> None:
        """Makes the folder: that of this process, or this one. Raises `FolderError` where it has captures."""
        self.folder = folder or ranked(self.folder)
        if (self.folder / "calls.jsonl").exists():
            raise FolderError(f"{self.folder} has captures already: name another folder, or remove it")
        (self.folder / "contents").mkdir(parents=True, exist_ok=True)
        own = {"format": FORMAT, "torch": torch.__version__, "accelerator": accelerator(), "command": sys.argv}
        (self.folder / "run.json").write_text(json.dumps({**own, "rank": rank()}, indent=1) + "\n", encoding="utf-8")
        self._lines = (self.folder / "calls.jsonl").open("w", encoding="utf-8")

    def close(self) -> None:
        """Ends the file of calls."""
        self._known.clear()
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    @property
    def full(self) -> bool:
        """Returns whether no more operands can be stored; contents that are known are not looked for then."""
        return self.used >= self.budget

    def write(self, text: str) -> None:
        """Writes lines of calls."""
        assert self._lines is not None, "the store is not open"
        self._lines.write(text)

    def flush(self) -> None:
        """Lets other processes see what is written."""
        if self._lines is not None:
            self._lines.flush()

    def add(self, *parts: Frozen) -> list[list[str]] | None:
        """Stores the contents; their digests for each part, or None where the budget does not allow it."""
        found: list[list[str]] = []
        fresh: dict[str, Any] = {}
        for part in parts:
            digests = []
            for content in part.contents:
                data = content_bytes(content)
                name = f"{digest_of(data)}-{str(content.dtype)[6:]}"
                if name not in self._known:
                    fresh[name] = data
                digests.append(name)
            found.append(digests)
        size = sum(memoryview(data).nbytes for data in fresh.values())
        if self.used + size > self.budget:
            self.over += 1
            return None
        for name, data in fresh.items():
            path = content_path(self.folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        self._known.update(fresh)
        self.used += size
        return found


def content_bytes(content: Any) -> Any:
    """The memory of a flat contiguous tensor of the CPU, which must outlive it: a large one is not copied for this."""
    size = content.numel() * content.element_size()
    return (ctypes.c_char * size).from_address(content.data_ptr()) if size else b""


def digest_of(data: Any) -> str:
    """The name of some bytes. Processors have instructions for SHA-256, which make it the fastest that is safe."""
    return hashlib.sha256(data).hexdigest()[:32]


def content_path(folder: Path, name: str) -> Path:
    """The file of a content."""
    return folder / "contents" / name[:2] / name


def read_content(folder: Path, name: str, dtype: Any) -> Any:
    """A content as a flat tensor. Raises `FolderError` where the file is missing or is not what its name says."""
    path = content_path(folder, name)
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise FolderError(f"{path} cannot be read: {reason.strerror}") from None
    if digest_of(data) != name.partition("-")[0]:
        raise FolderError(f"{path} is damaged: its digest is another one")
    if not data:
        return torch.empty(0, dtype=dtype, device="cpu")
    return torch.frombuffer(bytearray(data), dtype=dtype)


def read_calls(folder: Path) -> Iterator[Stored]:
    """The calls of a folder in order, those of all ranks one after another. Raises `FolderError`."""
    folders = (
        [folder]
        if (folder / "calls.jsonl").exists()
        else sorted([*folder.glob("rank*"), *folder.glob("process*")], key=_rank_of)
    )
    folders = [one for one in folders if (one / "calls.jsonl").exists()]
    if not folders:
        raise FolderError(f"{folder} has no captures (calls.jsonl)")
    for one in folders:
        with (one / "calls.jsonl").open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield Stored(one, json.loads(line))
                except ValueError:
                    # A process that was killed leaves its last line unfinished.
                    print(f"optools: {one / 'calls.jsonl'}:{number} is not complete and was left out", file=sys.stderr)


def _rank_of(folder: Path) -> int:
    return int(re.sub(r"\D", "", folder.name) or 0)
