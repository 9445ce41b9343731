"""The files of saved graphs, read as `runtime/torch/compile/saved_graph_file.h` describes them."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any


def document_of(path: Path) -> dict[str, Any]:
    """The document of a file: `plans`, `constants`, `inputs`."""
    content = path.read_bytes()
    assert content[:8] == b"DIOPI\r\n\x1a"
    assert struct.unpack("<I", content[-4:])[0] == zlib.crc32(content[:-4])
    format_version, _, length = struct.unpack("<IIQ", content[8:24])
    assert format_version == 3
    document: dict[str, Any] = json.loads(content[24 : 24 + length])
    return document
