"""Fails where text or a name has a word of our own for which the field has a term: the list is tools/words.yaml.

A word is found in prose and within identifiers (`judge_all`, `judgeAll`, `kJudge`, `JUDGE`); a phrase also across the
end of a line. An entry with `names` in place of `words` is about identifiers alone, in code below its `paths` but not
below those of `except`: prose and texts may have the word, and so may names that say `in_place`.
`words: allow WORD` on a line allows the word there; a waiver that nothing needs is a finding. Without arguments all
files of the repository are read but generated ones, which follow from files that are. `--list FILE` reads another list.

Exit codes: 0 fine, 1 findings, 2 the list cannot be read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
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
FIELD = re.compile(r"in_place|[iI]nPlace")
"""Names of the field that have a word of the list within them."""


class Word(NamedTuple):
    """One form of an entry, what finds it, the term to use instead and, of names, where it is found."""

    text: str
    pattern: re.Pattern[str]
    term: str
    paths: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def of_names(self) -> bool:
        """Returns whether identifiers alone count."""
        return bool(self.paths)

    def counts_in(self, name: str) -> bool:
        """Returns whether the word is looked for in the file of this name."""
        if not self.of_names:
            return True
        return name.startswith(self.paths) and not name.startswith(self.left_out) and name.endswith(CODE)


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
    found = []
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], start=1):
        keys = set(entry) if isinstance(entry, dict) else set()
        forms = ({"words", "term"}, {"names", "paths", "term"}, {"names", "paths", "except", "term"})
        if keys not in forms or not all(isinstance(entry[key], list) for key in keys - {"term"}):
            raise ValueError(
                f"{path.name}: entry {number} is neither {{words: [...], term: ...}} nor "
                "{names: [...], paths: [...], except: [...], term: ...}"
            )
        paths, left_out = (tuple(map(str, entry.get(key, ()))) for key in ("paths", "except"))
        for word in entry.get("words", []) or entry["names"]:
            found.append(Word(str(word), pattern_of(str(word)), str(entry["term"]), paths, left_out))
    return found


def names_alone(name: str, text: str) -> str:
    """The code with blanks in place of comments and texts, so that every offset stays."""
    blanked = text
    for pattern in (NO_NAMES, FIELD, *([re.compile(r"#[^\n]*")] if name.endswith(".py") else [])):
        blanked = pattern.sub(lambda part: re.sub(r"[^\n]", " ", part.group()), blanked)
    return blanked


def findings(name: str, text: str, words: list[Word]) -> Iterator[tuple[int, int, str]]:
    """Line, column (both from 1) and message of each word in the text of a file; 0, 0 where its name has one."""
    waivers: dict[tuple[int, str], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for waiver in WAIVER.finditer(line):
            waivers[(number, waiver.group(1))] = waiver.start() + 1
    spans = [waiver.span() for waiver in WAIVER.finditer(text)]
    used = set()
    lowered = f"{name}\n{text}".lower()
    code = ""
    for word in words:
        if word.text.split()[0] not in lowered or not word.counts_in(name):
            continue  # most words are in few files
        if word.of_names:
            code = code or names_alone(name, text)
        elif word.pattern.search(name):
            yield 0, 0, f"the file's name has '{word.text}'; use {word.term}"
        for match in word.pattern.finditer(code if word.of_names else text):
            if any(start <= match.start() < end for start, end in spans):
                continue
            found = text.count("\n", 0, match.start()) + 1
            if (found, word.text) in waivers:
                used.add((found, word.text))
                continue
            yield found, match.start() - text.rfind("\n", 0, match.start()), f"'{word.text}': use {word.term}"
    for (position, allowed), column in waivers.items():
        if (position, allowed) not in used:
            yield position, column, f"'{allowed}' is allowed here but not used, or not in the list"


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
        for line, column, message in sorted(findings(name, text, words)):
            count += 1
            print(f"{name}:{line}:{column}: {message}" if line else f"{name}: {message}")
    if count:
        print(f"{count} words of our own; the terms of the field are in tools/words.yaml", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
