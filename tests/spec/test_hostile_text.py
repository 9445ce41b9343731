"""No text of a spec ends a comment, a string or a line of what is generated from it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from spec_helpers import kind_of_file

from diopigen import api
from diopigen.diagnostics import Severity, Sink
from diopigen.emit.escaping import c_string, comment_text, python_string
from diopigen.spec.grammar import FILES
from diopigen.spec.grammar_words import TEXT
from diopigen.spec.schema import EitherShape, ListShape, MapShape, RecordShape, Shape

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "a */ int broken; /* b ??/ \" ' \"\"\" ''' ` </script> <b> {{ c }} {% d %} $(e) \\ f\\"
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
PROSE = frozenset({"doc", "note", "source", "deprecated", "untestable", "irregular_order", "why"})
"""Keys whose text is for people: it may be anything."""


def replaced(value: Any, shape: Shape) -> Any:
    """The document with hostile text in each key of prose that the grammar has."""
    if isinstance(shape, EitherShape):
        return next((new for option in shape.options if (new := replaced(value, option)) != value), value)
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [replaced(one, shape.item) for one in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: replaced(one, shape.fixed.get(key, shape.value)) for key, one in value.items()}
    if isinstance(shape, RecordShape) and isinstance(value, dict):
        return {
            key: f"{one} {HOSTILE}"
            if key in PROSE and shape.fields[key].shape is TEXT
            else replaced(one, shape.fields[key].shape)
            if key in shape.fields
            else one
            for key, one in value.items()
        }
    return value


def hostile_specs(folder: Path) -> int:
    """The spec with hostile text; the number of texts that were replaced."""
    shutil.copytree(ROOT / "specs", folder)
    count = 0
    for path in sorted(folder.rglob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        new = replaced(document, FILES[kind_of_file(path)])
        text = yaml.safe_dump(new, sort_keys=False, allow_unicode=True, width=10**6)
        count += text.count("int broken")
        path.write_text(text)
    return count


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("hostile")
    assert hostile_specs(folder / "specs") > 1000
    sink = Sink()
    where = api.Workspace(folder / "specs", ROOT / "templates", "specs")
    loaded = api.load(where, sink, check=False)  # not the rules of style
    assert sink.count(Severity.ERROR) == 0
    plan = api.plan(loaded.interface, where, sink)
    return dict(plan)


def written(files: dict[str, bytes], folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if path.suffix in suffixes:
            yield path


@pytest.mark.slow
@pytest.mark.parametrize("standard", ["c11", "c++14"])
def test_headers_compile(generated: dict[str, bytes], tmp_path: Path, standard: str) -> None:
    """With trigraphs, which these standards have."""
    headers = [one for one in written(generated, tmp_path, (".h",)) if one.parent.name == "diopi"]
    assert headers
    language = "c" if standard.startswith("c1") else "c++"
    for header in headers:
        command = ["g++" if language == "c++" else "gcc", f"-std={standard}", "-x", language, "-fsyntax-only", "-Wall"]
        done = subprocess.run(
            [*command, "-Werror", f"-I{tmp_path}/include", str(header)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "int broken" in header.read_text() or header.name == "functions.h"


@pytest.mark.slow
def test_sources_have_comments_and_strings_that_end(generated: dict[str, bytes], tmp_path: Path) -> None:
    """Preprocessed, the hostile text is gone with the comments."""
    seen = 0
    for source in written(generated, tmp_path, (".cpp", ".cu", ".h")):
        text = source.read_text()
        seen += "broken" in text
        includes = "\n".join("" if line.startswith("#") else line for line in text.splitlines())
        flags = ["-std=c++17", "-trigraphs", "-fpreprocessed", "-Wcomment", "-Werror=comment", "-dD", "-E", "-P"]
        done = subprocess.run(
            ["g++", *flags, "-x", "c++", "-"], input=includes, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (source, done.stderr)
        assert "broken" not in _STRING.sub("", done.stdout), source
        assert "??/" not in done.stdout, source
    assert seen


@pytest.mark.slow
def test_python_parses(generated: dict[str, bytes], tmp_path: Path) -> None:
    stubs = list(written(generated, tmp_path, (".py", ".pyi")))
    assert any(path.suffix == ".pyi" for path in stubs)
    for path in stubs:
        tree = ast.parse(path.read_text(), str(path))
        assert not any(getattr(node, "id", "") == "broken" for node in ast.walk(tree))


@pytest.mark.parametrize("text", [HOSTILE, "*/", "/*/", "**//", "\\", "??/", "a\\ b", "/*/*/"])
def test_comments(text: str) -> None:
    safe = comment_text(text)
    assert "*/" not in safe and "/*" not in safe and "??/" not in safe and not safe.endswith("\\")


@pytest.mark.parametrize("text", [HOSTILE, "\n", "\x01f", "\\", '"', "tab\t", "??/", "a\x7f", "中"])
def test_strings_are_what_they_were(text: str, tmp_path: Path) -> None:
    assert ast.literal_eval(python_string(text)) == text
    source = tmp_path / "string.c"
    source.write_text(f"#include <stdio.h>\nint main(void) {{ fputs({c_string(text)}, stdout); return 0; }}\n")
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", str(source), "-o", str(tmp_path / "string")], check=True)
    assert subprocess.run([tmp_path / "string"], capture_output=True, check=True).stdout.decode() == text
