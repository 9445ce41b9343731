"""`breaking` on what changed in published headers, from commit to commit: who breaks, as read by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from diopigen.cli import cli

PAIRS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("published_changes.yaml").read_text())
SEVERITY = {"binaries": "error", "sources": "warning", "nothing": "note"}
"""The weightiest finding of a pair, at most."""
TYPES = """\
#include <stdbool.h>
#include <stdint.h>
typedef struct tensor* T;
typedef const struct tensor* C;
typedef struct generator* G;
typedef struct { const int64_t* data; int64_t len; } S;
typedef struct { int type; double value; } num;
typedef int64_t i64;
typedef int32_t i32;
typedef uint64_t u64;
typedef double f64;
typedef float f32;
"""
DECLARATION = re.compile(r"(?P<flags>(?:weak |deprecated )*)(?P<name>\w*)\((?P<params>.*)\)")


def declaration(text: str, name: str = "") -> str:
    """The C declaration of a signature; a `name` is for one that has none."""
    found = DECLARATION.fullmatch(text)
    assert found is not None, text
    params = ", ".join(
        f"{kind} {name}" for name, kind in (one.split(": ") for one in found["params"].split(", ") if one)
    )
    attributes = "".join(f"__attribute__(({flag})) " for flag in found["flags"].split())
    return f"{attributes}int diopi{found['name'] or name}({params or 'void'});\n"


def headers(changes: list[str]) -> tuple[str, str]:
    """The header before and after changes."""
    old, new = "", ""
    for change in changes:
        if change.startswith(("+ #", "- #")):
            line = f"#define {change[3:]} 1\n"
            old, new = old + line * (change[0] == "-"), new + line * (change[0] == "+")
        elif change[0] in "+-=":
            text = declaration(change[2:])
            old += text * (change[0] != "+")
            new += "/** Said in more words. */\n" + text.replace(", ", ",\n    ") if change[0] != "-" else ""
        else:
            before, after = change.split(" -> ")
            found = DECLARATION.fullmatch(before)
            assert found is not None
            old, new = old + declaration(before), new + declaration(after, found["name"])
    return TYPES + old, TYPES + new


def subject(finding: dict[str, Any]) -> str:
    """A finding as the table has it: severity, rule, function, and the parameter as it is called first."""
    message = finding["message"]
    name = re.search(r"'(?:diopi)?(\w+)'", message)
    assert name is not None
    param = re.search(r"parameter '(\w+)'", message)
    return " ".join(filter(None, (finding["severity"], finding["code"], name[1], param and param[1])))


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["commit"] for pair in PAIRS])
def test_what_a_commit_broke(pair: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("old.h", "new.h"), headers(pair["changes"]), strict=True):
        (tmp_path / name).write_text(text)
    done = CliRunner().invoke(cli, ["breaking", "--against", "old.h", "--new", "new.h", "--format", "json"])
    found = json.loads(done.stdout)["diagnostics"]
    assert sorted(map(subject, found)) == sorted(pair["findings"])
    assert done.exit_code == (1 if pair["breaks"] == "binaries" else 0)
    weights = {finding["severity"] for finding in found} | {"note"}
    heaviest = next(one for one in ("error", "warning", "note") if one in weights)
    assert heaviest == SEVERITY[pair["breaks"]]


def test_the_table_has_each_commit_once() -> None:
    commits = [pair["commit"] for pair in PAIRS]
    assert len(set(commits)) == len(commits) == 38
    assert all(re.fullmatch(r"[0-9a-f]{8}", commit) for commit in commits)
