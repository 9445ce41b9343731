"""A chip's first file, from the answers to a few questions. A text that is no answer is rejected with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from diopigen.chip.model import LARGEST_ALIGNMENT
from diopigen.config.grammar import is_operator
from diopigen.config.model import LAYOUTS
from diopigen.diagnostics import Failure, did_you_mean
from diopigen.emit.elementwise.kernels import expressible
from diopigen.emit.vendor.selection import require_vendor_name
from diopigen.ir.model import Function, Interface

ANY = "any"
STARTER = "starter"
ELEMENTWISE = "elementwise"
MOVERS = ("diopiCastDtype", "diopiCopyInp")
"""Operators that shims call to convert."""
FAMILIES_OF_IMAGES = ("convolution", "pooling", "resample")
"""Families whose tensors are images."""
_MOVED = ("bool", "uint8", "int32", "int64")
"""Operators for moves and casts that every framework needs on any chip."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Content of a chip's file. `alignment` and `memory` are in bytes (0 for the default), `operators` in groups: what
    they have in common, and their C names."""

    name: str
    doc: str
    dtypes: tuple[str, ...]
    max_rank: int
    alignment: int
    layouts: tuple[str, ...]
    contiguous: bool
    memory: int
    operators: tuple[tuple[str, tuple[str, ...]], ...]


class Questions:
    """Parsers of answers. Every method raises `ValueError` with the reason where a text is no answer."""

    def __init__(self, interface: Interface) -> None:
        self._interface = interface
        self._functions = [function for function in interface.functions if is_operator(function)]
        self._families = sorted({function.family for function in self._functions})

    def name(self, text: str) -> str:
        """The name of a chip, which the folder, the namespace and the project of its tree have too."""
        if not re.fullmatch("[a-z][a-z0-9_]*", text):
            raise ValueError("a name in lower case begins with a letter, and has letters, digits and _")
        try:
            require_vendor_name(text)
        except Failure as fault:
            raise ValueError(fault.diagnostics[0].message) from None
        return text

    def doc(self, text: str) -> str:
        """One-line description of the chip."""
        line = " ".join(text.split())
        if not line:
            raise ValueError("say in a line what the chip is")
        return line

    def dtypes(self, text: str) -> tuple[str, ...]:
        """Dtypes, each once."""
        known = [info.name for info in self._interface.dtypes]
        words = tuple(dict.fromkeys(_words(text)))
        for word in words:
            if word not in known:
                raise ValueError(f"there is no dtype '{word}': {did_you_mean(word, known) or ', '.join(known)}")
        if not words:
            raise ValueError("name at least one dtype")
        return words

    def rank(self, text: str) -> int:
        """The most dimensions of a tensor."""
        return _integer(text, 1, "a tensor has at least one dimension")

    def alignment(self, text: str) -> int:
        """Bytes, a power of two."""
        found = _integer(text, 1, f"give a power of two up to {LARGEST_ALIGNMENT}")
        if found > LARGEST_ALIGNMENT or found & (found - 1):
            raise ValueError(f"{found} is no power of two up to {LARGEST_ALIGNMENT}")
        return found

    def layouts(self, text: str) -> tuple[str, ...]:
        """The layouts of image kernels; none for any."""
        words = tuple(dict.fromkeys(_words(text)))
        for word in words:
            if word not in (*LAYOUTS, ANY):
                near = did_you_mean(word, [*LAYOUTS, ANY])
                raise ValueError(f"there is no layout '{word}': {near or ', '.join([ANY, *LAYOUTS])}")
        if not words or (len(words) > 1 and {ANY, "ND"} & set(words)):
            raise ValueError(f"give '{ANY}', or layouts such as NHWC")
        return () if words[0] in (ANY, "ND") else words

    def contiguous(self, text: str) -> bool:
        """`contiguous` or `strided`."""
        if text not in ("contiguous", "strided"):
            raise ValueError("give 'contiguous' or 'strided'")
        return text == "contiguous"

    def memory(self, text: str) -> int:
        """Bytes, with `M`, `G` or `T` behind a number for powers of 1024; 0 for the default."""
        match = re.fullmatch(r"(\d+)\s*([MGT]?)(?:i?B)?", text.strip())
        if match is None:
            raise ValueError("give a number of bytes, such as 16G")
        return int(match[1]) << {"": 0, "M": 20, "G": 30, "T": 40}[match[2]]

    def operators(self, text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Groups of native operators: the starter set, elementwise ones, families, names and patterns; each once. What
        shims convert with is a group of its own."""
        taken = set(MOVERS)
        groups: list[tuple[str, tuple[str, ...]]] = []
        for word in _words(text):
            what, fitting = self._class(word)
            names = tuple(function.name for function in fitting if function.name not in taken)
            taken.update(names)
            if names:
                groups.append((what, names))
        if not groups:
            raise ValueError("name at least one operator")
        moved = tuple(name for name in MOVERS if any(function.name == name for function in self._functions))
        return (*_joined(groups), *([("What shims convert with.", moved)] if moved else []))

    def _class(self, word: str) -> tuple[str, Sequence[Function]]:
        if word == STARTER:
            return "Operators to begin with.", [one for one in self._functions if one.starter]
        if word == ELEMENTWISE:
            return "Elementwise; their kernels are generated.", expressible(self._interface.settled())
        if word in self._families:
            return f"All of {word}.", [one for one in self._functions if one.family == word]
        found = [one for one in self._functions if fnmatchcase(one.name, word) or fnmatchcase(one.short_name, word)]
        if not found:
            known = [STARTER, ELEMENTWISE, *self._families, *(one.short_name for one in self._functions)]
            near = did_you_mean(word, known) or f"families: {', '.join(self._families)}"
            raise ValueError(f"no operator, family or pattern is '{word}': {near}")
        return "Named one by one.", found


def _joined(groups: Iterable[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """The groups, those that have the same in common as one."""
    found: dict[str, tuple[str, ...]] = {}
    for what, names in groups:
        found[what] = (*found.get(what, ()), *names)
    return list(found.items())


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text.strip()) if word]


def _integer(text: str, least: int, reason: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text.strip()) or int(text) < least:
        raise ValueError(reason)
    return int(text)


def chip_text(answers: Answers, interface: Interface) -> str:
    """The chip's file. Kernels of images are in groups of their own where they take certain layouts."""
    lines = [
        f"chip: {answers.name}",
        f"doc: {_quoted(answers.doc)}",
        f"dtypes: [{', '.join(answers.dtypes)}]",
        f"max_rank: {answers.max_rank}",
        f"alignment: {answers.alignment}                # bytes that the start of every buffer is a multiple of",
    ]
    lines += ["contiguous: true             # kernels take contiguous tensors alone"] if answers.contiguous else []
    lines += [f"memory: {answers.memory}"] if answers.memory else []
    lines.append("operators:")
    for what, names in answers.operators:
        images = [name for name in names if answers.layouts and _is_of_images(interface, name)]
        others = [name for name in names if name not in images]
        if others:
            moved = tuple(dict.fromkeys((*answers.dtypes, *_MOVED))) if others[0] in MOVERS else ()
            lines += _group(what, others, moved, ())
            lines += ["    alignment: 1"] if moved else []
        if images:
            lines += _group(f"{what[:-1]}, on images.", images, (), answers.layouts)
    return "\n".join(lines) + "\n"


def _is_of_images(interface: Interface, name: str) -> bool:
    """Returns whether a tensor of the function has a shape that convolution or pooling gives, or it is a norm over
    images."""
    function = interface.function(name)
    return function is not None and (function.family in FAMILIES_OF_IMAGES or "BatchNorm" in function.operator)


def _group(what: str, names: Sequence[str], dtypes: Sequence[str], layouts: Sequence[str]) -> list[str]:
    lines = [f"  - doc: {_quoted(what)}", "    names:", *(f"      - {name}" for name in names)]
    lines += [f"    dtypes: [{', '.join(dtypes)}]"] if dtypes else []
    return [*lines, *([f"    layouts: [{', '.join(layouts)}]"] if layouts else [])]


def _quoted(text: str) -> str:
    """A text that YAML reads as one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
