"""Philox4x32-10 against the known answers that its authors publish with Random123 (kat_vectors)."""

from __future__ import annotations

import subprocess

from artefacts import artefact

KNOWN = (
    # counter, key, answer
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


def test_the_published_answers() -> None:
    program = artefact("cpu/philox_program")
    for counter, key, answer in KNOWN:
        seed, low, high = (str(pair[0] | pair[1] << 32) for pair in (key, counter[:2], counter[2:]))
        done = subprocess.run([program, seed, low, high], capture_output=True, text=True, check=True)
        assert tuple(map(int, done.stdout.split())) == answer
