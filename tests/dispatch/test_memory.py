"""Shared memory of tensors in contracts, compared with all elements one by one."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections import Counter
from dataclasses import dataclass

from artefacts import artefact


@dataclass(frozen=True)
class View:
    """A strided tensor: bytes of an element, offset of the first one in bytes, sizes, and strides in elements."""

    width: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def elements(self) -> list[range]:
        """The bytes of each element."""
        starts = (
            self.offset + self.width * sum(i * stride for i, stride in zip(index, self.strides, strict=True))
            for index in itertools.product(*map(range, self.sizes))
        )
        return [range(start, start + self.width) for start in starts]

    def overlaps_itself(self) -> bool:
        """Returns whether two elements have a byte in common."""
        counts = Counter(byte for element in self.elements() for byte in element)
        return any(count > 1 for count in counts.values())

    def text(self) -> str:
        """A tensor as the program reads it."""
        return " ".join(map(str, (self.width, self.offset, len(self.sizes), *self.sizes, *self.strides)))


def shares_memory(a: View, b: View) -> bool:
    """Returns whether an element of one has a byte in common with an element of the other."""
    return not {byte for element in a.elements() for byte in element}.isdisjoint(
        byte for element in b.elements() for byte in element
    )


def answers(pairs: list[tuple[View, View]]) -> list[tuple[bool, bool]]:
    """Of the program: whether the first overlaps itself, and whether both share memory."""
    lines = "".join(f"{a.text()}\n{b.text()}\n" for a, b in pairs)
    command = [str(artefact("dispatch/memory_program"))]
    done = subprocess.run(command, input=lines, check=True, capture_output=True, text=True)
    return [(own == "1", both == "1") for own, both in (line.split() for line in done.stdout.splitlines())]


def drawn(random_: random.Random) -> View:
    """A view of up to four dimensions within 2 KiB, with strides that often fit together and often do not."""
    width = random_.choice((1, 2, 4, 8))
    rank = random_.randint(0, 4)
    sizes = tuple(random_.choice((0, 1, 2, 2, 3, 4)) for _ in range(rank))
    strides = tuple(random_.choice((0, 1, 1, 2, 3, 4, 6, 8, 12)) for _ in range(rank))
    return View(width, random_.randrange(0, 96, width), sizes, strides)


def test_the_answers_are_those_of_the_elements() -> None:
    random_ = random.Random(7)
    pairs = [(drawn(random_), drawn(random_)) for _ in range(20_000)]
    expected = [(a.overlaps_itself(), shares_memory(a, b)) for a, b in pairs]
    found = answers(pairs)
    assert len(found) == len(pairs)
    wrong = [
        (*pair, answer, right) for pair, answer, right in zip(pairs, found, expected, strict=True) if answer != right
    ]
    assert wrong == []
    assert min(Counter(itertools.chain.from_iterable(expected)).values()) > 5_000


def test_slices_of_one_tensor_that_hosts_pass() -> None:
    """Adjacent columns, the even and the odd ones, rows, a transposed matrix: what torch calls disjoint."""
    left, right = View(4, 0, (8, 2), (4, 1)), View(4, 8, (8, 2), (4, 1))
    even, odd = View(4, 0, (16,), (2,)), View(4, 4, (16,), (2,))
    rows, below = View(4, 0, (4, 4), (4, 1)), View(4, 64, (4, 4), (1, 4))
    meeting = View(4, 4, (8, 2), (4, 1))
    pairs = [(left, right), (even, odd), (rows, below), (left, meeting)]
    assert [both for _, both in answers(pairs)] == [False, False, False, True]
