"""A source file as bytes, with the way from clang's byte offsets to lines and character columns."""

from __future__ import annotations

import errno
import os
import re
from bisect import bisect_right
from pathlib import Path, PurePath

from diopigen.diagnostics import Sink, Span

_BOM = b"\xef\xbb\xbf"
_NEWLINE = re.compile(rb"\n")


class SourceText:
    """The bytes of one file; `name` is how findings name it, `base` its last part."""

    __slots__ = ("_ascii", "_starts", "base", "data", "name")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.base = PurePath(name).name
        self.data = data
        self._ascii = data.isascii()
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(data))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of the byte at `offset`; the column counts characters."""
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        if self._ascii:
            return line, offset - start + 1
        before = self.data[start:offset]
        if before.isascii():
            return line, offset - start + 1
        if line == 1 and before.startswith(_BOM):
            before = before[len(_BOM) :]
        return line, len(before.decode("utf-8", errors="replace")) + 1

    def span(self, start: int, end: int) -> Span:
        """The span of the bytes from `start` to `end` (exclusive)."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(self.name, line, column, end_line, end_column)

    def word(self, start: int, length: int) -> Span:
        """The span of `length` ASCII characters on one line: a name, or an operator."""
        line, column = self.position(start)
        return Span(self.name, line, column, line, column + length)

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", errors="replace")


def read_source(path: Path, sink: Sink, *, code: str) -> SourceText | None:
    """Reads a text file; whatever keeps it from being one is an error `code` in `sink`, and the result None."""
    name = str(path)
    here = Span(name)
    data = _read_bytes(path, here, sink, code)
    if data is None:
        return None
    source = SourceText(name, data)
    if (zero := data.find(b"\0")) >= 0:
        line, column = source.position(zero)
        sink.error(
            code,
            f"'{name}' is binary: it holds a zero byte",
            Span(name, line, column),
            fix="give the path of a C or C++ source text",
        )
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as fault:
        line, column = source.position(fault.start)
        sink.error(
            code,
            f"'{name}' is not UTF-8: byte 0x{data[fault.start]:02x}",
            Span(name, line, column),
            fix="save the file as UTF-8",
        )
        return None
    return source


def _read_bytes(path: Path, here: Span, sink: Sink, code: str) -> bytes | None:
    name = str(path)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        readable = os.fsencode(path).decode("utf-8", errors="replace")
        sink.error(code, f"the name of '{readable}' is not UTF-8", Span(readable), fix="rename the file")
        return None
    try:
        if path.is_dir():
            sink.error(code, f"'{name}' is a directory", here, fix="give the files in it, one by one")
            return None
        # A pipe or a device could block for ever.
        if path.exists() and not path.is_file():
            sink.error(code, f"'{name}' is not a regular file", here, fix="give the path of a text file")
            return None
        return path.read_bytes()
    except FileNotFoundError:
        sink.error(code, f"'{name}' does not exist", here, fix="correct the path")
    except PermissionError:
        sink.error(code, f"'{name}' may not be read", here, fix="give yourself read permission")
    except (OSError, ValueError) as fault:
        number = fault.errno if isinstance(fault, OSError) else None
        reason = os.strerror(number or errno.EINVAL)
        sink.error(code, f"'{name}' cannot be read: {reason}", here, fix="correct the path")
    return None
