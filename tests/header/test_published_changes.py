"""`breaking` over 36 changes that the published headers went through: its verdict is that of a person who read them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from diopigen.cli import cli

CHANGES = yaml.safe_load((Path(__file__).parents[1] / "data/published_changes.yaml").read_text(encoding="utf-8"))
WORDS = {
    "ctx": "diopiContextHandle_t ctx",
    "const tensor": "diopiConstTensorHandle_t",
    "tensor": "diopiTensorHandle_t",
    "generator": "diopiGeneratorHandle_t",
    "sizes": "diopiSize_t",
    "const scalar": "const diopiScalar_t",
    "MemoryFormat": "diopiMemoryFormat_t",
}
ATTRIBUTES = {"": "", "weak": "__attribute__((weak)) ", "deprecated": "[[deprecated]] "}
TYPES = """#include <stdbool.h>
#include <stdint.h>
typedef struct diopiContext* diopiContextHandle_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef struct diopiGenerator* diopiGeneratorHandle_t;
typedef struct { const int64_t* data; int64_t len; } diopiSize_t;
typedef struct { int stype; double fval; } diopiScalar_t;
typedef enum { diopiSuccess = 0, diopiErrorOccurred = 1 } diopiError_t;
diopiError_t diopiAlwaysThere(diopiContextHandle_t ctx);
"""


def header(declarations: list[str], values: list[str]) -> str:
    """The text of a header with these functions, and with an enum of these values."""
    lines = [TYPES, f"typedef enum {{ {', '.join(values or ['Contiguous = 0'])} }} diopiMemoryFormat_t;"]
    for declaration in declarations:
        signature, _, attribute = declaration.partition("): ")
        name, _, params = signature.rstrip(")").partition("(")
        c_params = []
        for param in params.split(", "):
            word = next((word for word in WORDS if param == word or param.startswith((f"{word} ", f"{word}*"))), "")
            c_params.append(WORDS.get(word, "") + param[len(word) :])
        lines.append(f"{ATTRIBUTES[attribute]}diopiError_t diopi{name}({', '.join(c_params)});")
    return "\n".join(lines) + "\n"


def test_there_are_36_changes() -> None:
    assert len({change["commit"] for change in CHANGES}) == len(CHANGES) == 36


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["commit"])
def test_the_verdict_is_that_of_a_reader(change: dict[str, Any], tmp_path: Path) -> None:
    for side in ("old", "new"):
        text = header(change[side], change.get(f"{side}_enum", []))
        (tmp_path / f"{side}.h").write_text(text, encoding="utf-8")
    words = ["breaking", "--against", tmp_path / "old.h", "--new", tmp_path / "new.h", "--format", "json"]
    done = CliRunner().invoke(cli, list(map(str, words)))
    found = Counter(one["code"] for one in json.loads(done.stdout)["diagnostics"])
    assert dict(found) == change["findings"]
    assert done.exit_code == int(change["breaks"])
