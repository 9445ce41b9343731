"""The kernels of a library share one namespace: a type that two headers define differently breaks the one-definition
rule of C++, which no compiler has to report."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?=[ :{][^;]*\{)", re.MULTILINE)


@pytest.mark.parametrize("library", ["cpu", "cuda"])
def test_no_two_headers_define_a_type(library: str) -> None:
    places = defaultdict(list)
    headers = [path for folder in ("core", library) for path in sorted((ROOT / "impl" / folder).rglob("*.h"))]
    for path in headers:
        text = path.read_text()
        for found in TYPE.finditer(text):
            outer = [match[1] for match in NAMESPACE.finditer(text) if match.start() < found.start()]
            places["::".join([*outer[-1:], found[1]])].append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
