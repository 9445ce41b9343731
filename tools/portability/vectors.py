"""Vector instructions of loops, read from what the compiler made.

As a command, prints the table of docs/cpu-library.md for builds of the CPU library for 64-bit ARM, each NAME=FOLDER;
without any, for the one of `make portability`. Exit status 1 where a loop lost its vectors, or an exception has them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

from builds import ROOT, WORK

OBJDUMP = "aarch64-linux-gnu-objdump"
C_LIBRARY = "exp and the like are the C library's, without SLEEF and libmvec"
_LONG = "NEON multiplies no 64-bit integers"
_DIVISION = "there is no instruction that divides integers"
_BRANCHES = "what is out of range is found by branches"
_POWERS = "its powers are the C library's, on x86-64 too"
_GATHER = "NEON loads from no list of positions"
SCALAR: Mapping[str, str] = {
    **dict.fromkeys(("Add Int64", "Sub Int64", "Mul Int64", "Addcmul Int64", "ForeachmulTensor Int64"), _LONG),
    **dict.fromkeys(("Arange Int64", "Linspace Int64", "reduce_*<Multiply<*>, Int64, *>"), _LONG),
    **dict.fromkeys(("Div *", "RemainderTensor *nt*"), _DIVISION),
    "PowTensor *nt*": "powers of integers are loops of products",
    "Maximum Bool": "GCC 12 has no vectors for this choice between bytes",
    **dict.fromkeys(("Erfinv double", "Polar *"), "in double through functions of the C library"),
    **dict.fromkeys(("convert_block<float, *nt*>", "convert_block<Half, Int*>"), _BRANCHES),
    "convert_block<Int64, *>": "NEON converts 64-bit integers to double alone, which would round twice",
    **dict.fromkeys(("gather_row<*>", "Each::run_rows<PickPoints<*>>"), _GATHER),
    **dict.fromkeys(("Each::run_rows<AverageBins<*>>", "Each::run_rows<Resample>"), _GATHER),
    "Each::run_rows<ReadColumns<*>>": _GATHER,
    "take_larger<Int64>": "GCC 12 has no vectors for this choice between 64-bit integers with their positions",
    **dict.fromkeys(("*<*focal_*>", "reduce_columns<OfSizes<PowerNorm, *>"), _POWERS),
    "repeat_word<Bytes16>": "an element is a vector",
}
"""Loops without vectors on 64-bit ARM, as patterns of `Loop.label` and why."""
_FUNCTIONS = re.compile(
    r"a?(?:sin|cos|tan)h?f?|sincosf?|atan2f?|exp[2]?f?|expm1f?|log(?:2|10|1p)?f?|erfc?f?|hypotf?|fmodf?|powf?"
)
_ELEMENTWISE = re.compile(r"(\w+)Loop::run<(.*)>")
_MARKED = re.compile(r"DIOPI_CPU_CLONES\s+(?:static\s+|inline\s+)*[\w:]+(?:<[^>]*>)?[\s*&]+(\w+)\(")
_HEADER = re.compile(r"[0-9a-f]+ <(.*)>:")
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(\S+)\s*(.*)")
_BRANCH = re.compile(r"b|b\..*|cbn?z|tbn?z")
_LANES = re.compile(r"\bv\d+\.(?:2d|2s|4s|4h|8h|8b|16b)\b")
_WORD = re.compile(r"\bq\d+\b")
_MOVE = re.compile(r"u?s?mov|f?movi?|mvni|dup|ins|ext|(?:zip|uzp|trn)[12]|rev\d+|tb[lx]|xtn2?|(?:ld|st)[1-4]r?")
_TYPES = {
    "unsigned char": "Uint8", "signed char": "Int8", "short": "Int16", "int": "Int32", "long": "Int64",
}  # fmt: skip


class Vectors(Enum):
    """Use of whole vectors in the inner loops of a function."""

    COMPUTED = "arithmetic"
    MOVED = "moves"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Loop:
    """A function whose inner loop is over elements. `label` is its name with the types that it is for."""

    group: str
    label: str
    vectors: Vectors
    reason: str = ""
    """Why it has none; empty where that is not known."""


def functions(binary: Path, objdump: str = "objdump") -> Iterator[tuple[str, list[str]]]:
    """The functions of an object or a library: the demangled name and the lines of its instructions."""
    command = [objdump, "-dC", "--no-show-raw-insn", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for block in done.stdout.split("\n\n"):
        first, *lines = block.strip("\n").split("\n")
        if lines and lines[0].startswith("Disassembly"):
            continue
        if match := _HEADER.fullmatch(first):
            yield match[1], lines


def has_avx(lines: Sequence[str]) -> bool:
    """Returns whether instructions of x86-64 have vectors. A loop that jumps at once has the code of another one, and
    memset and memcpy have vectors of their own."""
    text = "\n".join(lines)
    return "ymm" in text or "zmm" in text or "<mem" in text or "\tjmp" in lines[0]


def neon(lines: Sequence[str]) -> Vectors:
    """Use of vectors in the inner loops of 64-bit ARM; memset and memcpy move them."""
    loops = inner_loops(lines)
    inside = [one for loop in loops for one in loop]
    if any(
        (_LANES.search(operands) and not _MOVE.fullmatch(name)) or "<_ZGVn" in operands for _, name, operands in inside
    ):
        return Vectors.COMPUTED
    is_moved = any(_LANES.search(operands) or _WORD.search(operands) for _, _, operands in inside)
    return Vectors.MOVED if is_moved or "<mem" in "\n".join(lines) else Vectors.NONE


def inner_loops(lines: Sequence[str]) -> list[list[tuple[int, str, str]]]:
    """Instructions (address, name, operands) between a branch backwards and its target, with no other such branch."""
    matches = filter(None, map(_INSTRUCTION.match, lines))
    code = [(int(match[1], 16), match[2], match[3]) for match in matches]
    ranges = set()
    for address, name, operands in code:
        if _BRANCH.fullmatch(name) and (target := re.search(r"(?:^|, )([0-9a-f]+) <", operands)):
            start = int(target[1], 16)
            if code[0][0] <= start <= address:
                ranges.add((start, address))
    inner = [
        one for one in ranges if not any(one != other and one[0] <= other[0] <= other[1] <= one[1] for other in ranges)
    ]
    return [[each for each in code if start <= each[0] <= end] for start, end in inner]


def loops(build: Path) -> list[Loop]:
    """The loops in the objects of a build of the CPU library for 64-bit ARM: those of elementwise operators, and the
    functions that are marked in the sources, but for complex numbers."""
    marked = _marked()
    found: dict[tuple[str, str], Loop] = {}
    has_vector_math = False
    folder = build / "CMakeFiles/diopi_impl.dir"
    for path in sorted(folder.rglob("*.o")):
        inside = str(path.relative_to(folder).with_suffix(""))
        source = inside.removeprefix(f"{str(ROOT)[1:]}/") if inside.startswith(str(ROOT)[1:]) else f"impl/cpu/{inside}"
        group = _group(source)
        for name, lines in functions(path, OBJDUMP):
            has_vector_math |= name.startswith("_ZGVn")
            if (label := _label(name, source, marked)) and "complex" not in label:
                found[group, name] = Loop(group, label, neon(lines), _reason(label, lines))
    if has_vector_math:
        found = {key: replace(loop, reason=loop.reason.replace(C_LIBRARY, "")) for key, loop in found.items()}
    return sorted(found.values(), key=lambda loop: (loop.group, loop.label))


def faults(found: Sequence[Loop]) -> list[str]:
    """Loops without vectors and without a reason, and exceptions that no loop needs."""
    lost = [
        f"{loop.group}: {loop.label} has no vectors"
        for loop in found
        if loop.vectors is Vectors.NONE and not loop.reason
    ]
    used = {
        pattern
        for loop in found
        if loop.vectors is Vectors.NONE
        for pattern in SCALAR
        if fnmatchcase(loop.label, pattern)
    }
    return lost + [f"no loop needs the exception {pattern}" for pattern in SCALAR if pattern not in used]


def table(builds: Mapping[str, Sequence[Loop]]) -> str:
    """Groups with their loops in a build, and how many have no vectors in each, as Markdown."""
    first = next(iter(builds.values()))
    head = ["group", "loops", "arithmetic", "moves alone", *(f"none, {name}" for name in builds), "why none"]
    rows = [head, ["---", *["---:"] * (len(head) - 2), "---"]]
    for group in [*sorted({loop.group for loop in first}), ""]:
        selected = [[loop for loop in found if group in ("", loop.group)] for found in builds.values()]
        counts = [Counter(loop.vectors for loop in one) for one in selected]
        reasons = Counter(loop.reason for loop in selected[0] if loop.vectors is Vectors.NONE) if group else Counter()
        cells = [
            len(selected[0]),
            counts[0][Vectors.COMPUTED],
            counts[0][Vectors.MOVED],
            *(one[Vectors.NONE] for one in counts),
        ]
        why = ", ".join(f"{number} × {reason}" for reason, number in reasons.most_common())
        rows.append([group or "together", *map(str, cells), why])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: Sequence[str]) -> int:
    builds = dict(argument.split("=", 1) for argument in arguments) or {"the C library": str(WORK / "aarch64/impl/cpu")}
    found = {name: loops(Path(folder)) for name, folder in builds.items()}
    print(table(found), end="")
    wrong = [f"{name}: {fault}" for name, one in found.items() for fault in faults(one)]
    print("".join(f"{fault}\n" for fault in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


def _reason(label: str, lines: Sequence[str]) -> str:
    for pattern, reason in SCALAR.items():
        if fnmatchcase(label, pattern):
            return reason
    called = {match[1] for line in lines if (match := re.search(r"\tbl\t.*<(\w+)(?:@plt)?>", line))}
    return C_LIBRARY if any(map(_FUNCTIONS.fullmatch, called)) else ""


def _marked() -> dict[str, set[str]]:
    """Names of functions with the mark of clones.h, and where each counts: in its file, in the group of a header, or
    everywhere, which is empty."""
    found: dict[str, set[str]] = {}
    for folder in ("impl/cpu", "impl/core"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                source = str(path.relative_to(ROOT))
                scope = source if path.suffix == ".cpp" else "" if "/include/" in source else _group(source)
                for name in _MARKED.findall(path.read_text(encoding="utf-8")):
                    found.setdefault(name, set()).add(scope)
    return found


def _group(source: str) -> str:
    match = re.search(r"(?:functions|kernels|generated/cpu)/(\w+)", source)
    return match[1] if match else Path(source).stem


def _label(name: str, source: str, marked: Mapping[str, set[str]]) -> str:
    """The short form of a function's name, where it is one of the loops; else nothing."""
    short = r"\(anonymous namespace\)::|diopigen::(?:(?:core|cpu)::)?|detail::| \[clone.*?\]"
    qualified, last = _names(re.sub(short, "", name))
    if match := _ELEMENTWISE.fullmatch(qualified):
        return f"{match[1]} {_typed(match[2])}"
    scopes = marked.get(last, set())
    return _typed(qualified) if any(scope in ("", source, _group(source)) for scope in scopes) else ""


def _names(name: str) -> tuple[str, str]:
    """A demangled name without its result and parameters, and its last part without the arguments of a template."""
    depth = start = last = 0
    for at, letter in enumerate(f"{name}("):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0 and letter == "(":
            return name[start:at], name[last:at].split("<")[0]
        if depth == 0 and letter in " :":
            last = at + 1
            start = last if letter == " " else start
    return name, name


def _typed(text: str) -> str:
    text = re.sub(r"Integer<([a-z ]+)>", lambda match: _TYPES.get(match[1], match[1]), text)
    return text.replace(" >", ">").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
