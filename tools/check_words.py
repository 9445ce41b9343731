"""Fails where text or a name has a word of our own for which the field has a term: the list is tools/words.yaml.

An entry of the list has one of these keys:
- `words`: in prose and within identifiers (`judge_all`, `judgeAll`, `kJudge`, `JUDGE`); a phrase also across the end of
  a line.
- `names`: in identifiers of code below `paths`, not in comments and texts; names with `in_place` are exempt.
- `docstrings`: as the first word of a docstring of Python.
- `comments`: as the first word of a line in a comment of C++, in files below `paths`.
- `added`: as `words`, but only with `--staged`, in lines that the staged change adds.
`except` exempts files, by the start of their path or a pattern with `*`. `words: allow WORD` on a line permits the word
there; a waiver that nothing needs is a finding. Without file names all handwritten files of the repository are read.
`--list FILE` reads another list.

Exit codes: 0 fine, 1 findings, 2 the list cannot be read.
"""

from __future__ import annotations

import re
import string
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/words.yaml"
LEFT_OUT = (
    "generated/",
    "tools/words.yaml",
    "tools/check_words.py",
    "tests/docs/test_words.py",
    "specs/aten/",
    "diopi_ffi/operators.pyi",
    "third_party/",
    "LICENSE",
)
WAIVER = re.compile(r"words: allow ([a-z]+(?: [a-z]+)*)")
BETWEEN = r"[\s_/#*>]+"
"""Separators between the words of a phrase: spaces, underscores, the end of a line and the start of a comment."""


CODE = (".py", ".h", ".cpp", ".cu")
NO_NAMES = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|(?<![0-9])\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
"""Texts and comments of C++ and, but for comments, of Python."""
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Lower case in which every character stays where it is."""
FIELD = re.compile(r"in_place|[iI]nPlace")
"""Names of the field that have a word of the list within them."""
KINDS = ("words", "names", "docstrings", "comments", "added")
BELOW = ("names", "comments")
"""Kinds of words in code below `paths`."""


class Word(NamedTuple):
    """One form of an entry: its pattern, the term to use instead, its kind and the files that it applies to."""

    text: str
    pattern: re.Pattern[str]
    term: str
    kind: str
    paths: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()

    def counts_in(self, name: str) -> bool:
        """Returns whether the word applies to the file of this name."""
        if any(fnmatchcase(name, one) if "*" in one else name.startswith(one) for one in self.exempt):
            return False
        return self.kind not in BELOW or (name.startswith(self.paths) and name.endswith(CODE))


def pattern_of(text: str) -> re.Pattern[str]:
    """Finds a word or phrase, in any case, as a whole word or as a part of an identifier."""
    parts = text.split()
    lower, title, upper = BETWEEN.join(parts), BETWEEN.join(p.capitalize() for p in parts), text.upper()
    first = BETWEEN.join([parts[0].capitalize(), *parts[1:]])
    camel = "".join(part.capitalize() for part in parts)
    return re.compile(
        rf"(?<![A-Za-z])(?:{lower}|{first}|{title}|{parts[0]}{camel[len(parts[0]) :]}|{camel})(?![a-z])"
        rf"|(?<=[a-z0-9]){camel}(?![a-z])"
        rf"|(?<![A-Za-z]){BETWEEN.join(upper.split())}(?![A-Za-z])"
    )


def read_list(path: Path) -> list[Word]:
    """The words of a list; ValueError with its position where an entry is not one."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    words = []
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], start=1):
        keys = set(entry) if isinstance(entry, dict) else set()
        kind = next((one for one in KINDS if one in keys), "")
        form = {kind, "term"} | ({"paths"} if kind in BELOW else set())
        if not kind or keys - {"except"} != form or not all(isinstance(entry[key], list) for key in keys - {"term"}):
            raise ValueError(
                f"{path.name}: entry {number} is neither {{words: [...], term: ...}}, nor the same with `docstrings` "
                "or `added`, nor {names: [...], paths: [...], term: ...}, nor this with `comments`; each may have "
                "`except: [...]`"
            )
        paths, exempt = (tuple(map(str, entry.get(key, ()))) for key in ("paths", "except"))
        for word in map(str, entry[kind]):
            pattern = FIRST[kind](word) if kind in FIRST else pattern_of(word)
            words.append(Word(word.lower(), pattern, str(entry["term"]), kind, paths, exempt))
    return words


def docstring_of(word: str) -> re.Pattern[str]:
    """Matches the word as the first one of a docstring."""
    return re.compile(rf'(?<="""){word}\b')


def comment_of(word: str) -> re.Pattern[str]:
    """Matches the word as the first one of a line in a comment of C++."""
    return re.compile(rf"(?<=// ){word}\b")


FIRST = {"docstrings": docstring_of, "comments": comment_of}


def added_lines(names: list[str]) -> dict[str, set[int]]:
    """Numbers of the lines that the staged change adds, by file."""
    command = ["git", "diff", "--cached", "--unified=0", "--no-color", "--no-ext-diff", "--", *names]
    lines: dict[str, set[int]] = {}
    name = ""
    for line in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ ").removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines.setdefault(name, set()).update(range(first, first + count))
    return lines


def names_alone(name: str, text: str) -> str:
    """The code with blanks in place of comments and texts, so that every offset stays."""
    blanked = text
    for pattern in (NO_NAMES, FIELD, *([re.compile(r"#[^\n]*")] if name.endswith(".py") else [])):
        blanked = pattern.sub(lambda part: re.sub(r"[^\n]", " ", part.group()), blanked)
    return blanked


def matches(pattern: re.Pattern[str], first: str, text: str, lowered: str) -> Iterator[re.Match[str]]:
    """As `finditer` for a pattern that begins with the letters `first`; looks only where `lowered` has them."""
    at = lowered.find(first)
    while at >= 0:
        match = pattern.match(text, at)
        if match is not None:
            yield match
        at = lowered.find(first, match.end() if match else at + 1)


def findings(name: str, text: str, words: list[Word], added: set[int]) -> Iterator[tuple[int, int, str]]:
    """Line, column (both from 1) and message of each word in the text of a file; 0, 0 for one in its name. `added` are
    the lines that the staged change adds.
    """
    waivers: dict[tuple[int, str], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for waiver in WAIVER.finditer(line):
            waivers[(number, waiver.group(1))] = waiver.start() + 1
    spans = [waiver.span() for waiver in WAIVER.finditer(text)]
    used = set()
    lowered = text.translate(LOWER)
    code = ""
    for word in words:
        first = word.text.split()[0]
        if (first not in lowered and first not in name.lower()) or not word.counts_in(name):
            continue  # most words are in few files
        if word.kind == "names":
            code = code or names_alone(name, text)
        elif word.kind == "words" and word.pattern.search(name):
            yield 0, 0, f"the file's name has '{word.text}'; use {word.term}"
        for match in matches(word.pattern, first, code if word.kind == "names" else text, lowered):
            if any(start <= match.start() < end for start, end in spans):
                continue
            at = text.count("\n", 0, match.start()) + 1
            if (at, word.text) in waivers:
                used.add((at, word.text))
            elif word.kind != "added" or at in added:
                yield at, match.start() - text.rfind("\n", 0, match.start()), f"'{word.text}': use {word.term}"
    for (at, allowed), column in waivers.items():
        if (at, allowed) not in used:
            yield at, column, f"'{allowed}' is allowed here but not used, or not in the list"


def listed() -> list[str]:
    """The files of the repository that are written by hand."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({name for name in names if name and not name.startswith(LEFT_OUT) and (ROOT / name).is_file()})


def main(arguments: list[str]) -> int:
    """Reads the files, prints `file:line:col: message` for each finding."""
    path = LIST
    if arguments[:1] == ["--list"] and len(arguments) > 1:
        path, arguments = Path(arguments[1]), arguments[2:]
    added: dict[str, set[int]] = {}
    if "--staged" in arguments:
        arguments = [name for name in arguments if name != "--staged" and not name.startswith(LEFT_OUT)]
        added = added_lines(arguments)
        arguments = arguments or sorted(name for name in added if not name.startswith(LEFT_OUT))
        if not arguments:
            return 0
    try:
        words = read_list(path)
    except (OSError, ValueError, yaml.YAMLError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    count = 0
    for name in arguments or listed():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not text
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr)
            return 2
        for line, column, message in sorted(findings(name, text, words, added.get(name, set()))):
            count += 1
            print(f"{name}:{line}:{column}: {message}" if line else f"{name}: {message}")
    if count:
        print(f"{count} words of our own; the terms of the field are in tools/words.yaml", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
