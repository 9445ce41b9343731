"""Parts of a spec: what was made of some of its files before, under a digest of all that it follows from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from diopigen.spec.text_file import read_once


class Parts(Protocol):
    """Values by such a digest. `get` returns None for one that is not known."""

    def get(self, key: str) -> object: ...

    def put(self, key: str, value: object) -> None: ...


def key_of_files(root: Path, relatives: Iterable[str], word: str) -> str | None:
    """A digest of `word`, and of the names and bytes of these files in the folder `root` and of types.yaml, which every
    other file refers to. None where one cannot be read."""
    digest = hashlib.blake2b(word.encode(errors="surrogateescape"), digest_size=32)
    try:
        for relative in ("types.yaml", *relatives):
            content = read_once(root / relative)
            digest.update(f" {relative} {len(content)} ".encode(errors="surrogateescape"))
            digest.update(content)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()
