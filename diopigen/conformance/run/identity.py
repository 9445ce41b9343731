"""Digests of the inputs of results: equal digests on two machines mean that their results can be merged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from diopigen.conformance.model import Case
from diopigen.spec.folder import entries_below

_PACKAGE = Path(__file__).resolve().parents[2]


def library_digest(library: Path) -> str:
    """The SHA-256 of the library's bytes."""
    with library.open("rb") as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def spec_digest(spec: Path) -> str:
    """A digest of the spec and of diopigen's own sources: cases, expected results and bounds follow from both."""
    digest = hashlib.blake2b(digest_size=16)
    for root, suffix in ((_PACKAGE, ".py"), (spec, "")):
        for found in sorted(entries_below(root), key=lambda one: one.name):
            # Data of the package is a copy of the spec where diopigen is installed, and absent in a checkout.
            if found.regular and found.name.endswith(suffix) and not found.name.startswith("_data/"):
                content = found.path.read_bytes()
                digest.update(f"{found.name} {len(content)} ".encode(errors="surrogateescape"))
                digest.update(content)
    return digest.hexdigest()


def settings_digest(words: Iterable[object]) -> str:
    """A digest of what else decides on outcomes: options, and the contents of files that they name."""
    return hashlib.blake2b(repr(tuple(words)).encode(errors="surrogateescape"), digest_size=8).hexdigest()


def plan_of(shards: Sequence[Sequence[Case]]) -> str:
    """Division of cases, as `COUNT/DIGEST`: the number of all cases, and a digest of the assignment to shards."""
    digest = hashlib.blake2b(digest_size=8)
    for shard in shards:
        for name in sorted(case.id for case in shard):
            digest.update(f"{name} ".encode())
        digest.update(b"\n")
    return f"{sum(map(len, shards))}/{digest.hexdigest()}"


def planned(plan: str) -> int:
    """The number of all cases of a plan; 0 where there is none."""
    count = plan.partition("/")[0]
    return int(count) if count.isdecimal() else 0
