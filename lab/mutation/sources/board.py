"""The memory that a library with faults shares with the process that injects them: which one acts, which are
reached."""

from __future__ import annotations

import mmap
import struct
import tempfile
from types import TracebackType

_HEAD = 4


class Board:
    """A file for one library's process, to be named in DIOPI_SOURCE_FAULTS."""

    def __init__(self, count: int) -> None:
        """For faults with numbers below `count`; none acts."""
        self._file = tempfile.NamedTemporaryFile(prefix="diopigen-faults-")  # noqa: SIM115  (closed in __exit__)
        self._file.truncate(_HEAD + max(count, 1))
        self._memory = mmap.mmap(self._file.fileno(), 0)
        self.inject(-1)

    @property
    def environment(self) -> dict[str, str]:
        """Environment that passes the file to the library."""
        return {"DIOPI_SOURCE_FAULTS": self._file.name}

    def inject(self, number: int) -> None:
        """Lets this fault act, and no other; none for -1."""
        self._memory[:_HEAD] = struct.pack("=i", number)

    def reached(self) -> list[int]:
        """The faults whose places have been evaluated since the last call."""
        found = [index for index, byte in enumerate(self._memory[_HEAD:]) if byte]
        if found:
            self._memory[_HEAD:] = bytes(len(self._memory) - _HEAD)
        return found

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._memory.close()
        self._file.close()
