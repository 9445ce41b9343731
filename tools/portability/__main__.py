"""The conformance suite over processors, instruction sets, libraries, compilers and versions of Python.

Each configuration is checked to be in effect, by what the library says of itself or by a probe. What a machine cannot
show is skipped by name. Exit status 1 where anything fails.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import subprocess
import sys
from pathlib import Path

import table
from builds import ROOT, WORK, Libraries
from configurations import CONFIGURATIONS
from suite import Limits, Row, processor, run

SHARED_SAMPLE = 1
"""Cases of each function in what CI runs every time."""
_SOURCES = ("diopigen", "generated", "impl", "runtime", "specs", "tools/portability")


def main() -> int:
    parser = argparse.ArgumentParser(prog="portability", description=__doc__)
    parser.add_argument("--only", action="append", metavar="GLOB", help="configurations: 'oneDNN*' (may be repeated)")
    parser.add_argument("--share", action="store_true", help="the part that CI runs each time, a sample of the cases")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N cases of each function")
    parser.add_argument(
        "--lib", type=Path, metavar="PATH", help="run over this library, not the configurations' builds"
    )
    parser.add_argument("--runtime", type=Path, metavar="PATH", help="its libdiopirt.so")
    parser.add_argument("--resume", action="store_true", help="keep good rows of earlier runs of the same sources")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="list the configurations")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--docs", action="store_true", help="write the table to docs/portability.md")
    options = parser.parse_args()
    if (options.lib is None) != (options.runtime is None):
        parser.error("--lib and --runtime go together")
    selected = [one for one in CONFIGURATIONS if not options.share or one.shared]
    if options.only:
        selected = [one for one in selected if any(fnmatch.fnmatch(one.title, pattern) for pattern in options.only)]
    if not selected:
        parser.error("no configuration is chosen; --list names them")
    if options.list:
        print("\n".join(one.title for one in selected))
        return 0
    sample = options.sample or (SHARED_SAMPLE if options.share else None)
    libraries = Libraries(options.lib.resolve(), options.runtime.resolve()) if options.lib else None
    limits = Limits(options.jobs, sample, libraries)
    retained = Retained(f"{_tree()} {sample} {options.lib}")
    rows = []
    for number, configuration in enumerate(selected, 1):
        row = retained.row(configuration.title) if options.resume else None
        if row is None:
            _progress(f"[{number}/{len(selected)}] {configuration.title}")
            row = run(configuration, limits)
            retained.keep(row)
        rows.append(row)
    _progress("")
    name = processor()[0]
    if options.json:
        options.json.write_text(table.to_json(rows, name), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(table.markdown(rows, name), encoding="utf-8")
    if options.docs:
        page = ROOT / "docs/portability.md"
        page.write_text(table.in_page(page.read_text(encoding="utf-8"), rows, name), encoding="utf-8")
    print(table.text(rows, name), end="")
    return 0 if all(row.good for row in rows) and any(not row.skipped for row in rows) else 1


def _progress(line: str) -> None:
    """One line that changes on a terminal, lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    elif line:
        print(line, file=sys.stderr, flush=True)


def _tree() -> str:
    """The state of the sources that results follow from; empty where git does not know."""
    listed = subprocess.run(
        ["git", "rev-parse", *(f"HEAD:{folder}" for folder in _SOURCES)], cwd=ROOT, capture_output=True, text=True
    )
    changed = subprocess.run(["git", "diff", "HEAD", "--", *_SOURCES], cwd=ROOT, capture_output=True, text=True)
    return f"{listed.stdout}{hash(changed.stdout)}" if changed.stdout else listed.stdout


class Retained:
    """Rows of earlier runs, by the sources and limits that they follow from."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.path = WORK / "rows.json"
        try:
            self.rows: dict[str, dict[str, object]] = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.rows = {}

    def row(self, title: str) -> Row | None:
        """A good row of the same state."""
        found = self.rows.get(title)
        if not found or found["state"] != self.state:
            return None
        fields = dict(found["row"])  # type: ignore[call-overload]  # JSON is untyped
        return Row(**{**fields, "failures": tuple(fields["failures"])})

    def keep(self, row: Row) -> None:
        """Keeps a row that needs not be made again."""
        self.rows.pop(row.title, None)
        if row.good and not row.skipped:
            fields = {name: getattr(row, name) for name in Row.__slots__}
            self.rows[row.title] = {"state": self.state, "row": fields}
        WORK.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
