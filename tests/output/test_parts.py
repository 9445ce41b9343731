"""Results about parts of a spec: found again for the same files, and never for changed ones."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import small_spec

from diopigen import api
from diopigen.check.rule import check_interface
from diopigen.collection import no_collection
from diopigen.conformance.cases.models import ModelReader, check_models
from diopigen.conformance.cases.tables import check_tables
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.models import ModelCall
from diopigen.output.cache import Parts

ROOT = Path(__file__).resolve().parents[2]
TABLE = """\
model: small
doc: A model.
torch: '2.13.0'
calls:
  - {phase: forward, function: Example, dtype: float32, count: 1, aten: example, arguments: {input: [2, 3]}}
  - {phase: forward, function: Other, dtype: float32, count: 1, aten: other, arguments: {input: [4]}}
unmapped: []
views: []
allocations: []
"""
OTHER = small_spec.OPERATOR.split("operators:\n")[1].replace("Example", "Other").replace("An operator", "Another one")


@pytest.fixture(autouse=True)
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec with a table that calls both its operators, and a cache of its own."""
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "cache"))
    small_spec.write(tmp_path / "specs", small_spec.OPERATOR + OTHER)
    (tmp_path / "specs/models").mkdir()
    (tmp_path / "specs/models/small.yaml").write_text(TABLE)
    return tmp_path / "specs"


def test_values_that_a_run_used_stay() -> None:
    parts = Parts("thing", ["a"])
    parts.put("one", [1])
    parts.put("two", [2])
    parts.save()
    again = Parts("thing", ["a"])
    assert (again.get("one"), again.get("three")) == ([1], None)
    again.put("three", 3)
    again.save()
    last = Parts("thing", ["a"])
    assert [last.get(key) for key in ("one", "two", "three")] == [[1], None, 3]
    assert Parts("thing", ["b"]).get("one") is None


def test_nothing_is_stored_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIOPIGEN_CACHE", "off")
    parts = Parts("thing", ["a"])
    parts.put("one", [1])
    parts.save()
    assert parts.get("one") is None


def _edited(lines: list[str], generator: random.Random) -> list[str]:
    """One line of a file is repeated, gone, exchanged with the next one, or has another word."""
    position = generator.randrange(len(lines))
    line = lines[position]
    words = line.split(" ")
    words[generator.randrange(len(words))] = generator.choice(("x", "input", "float32", "1", "[", ""))
    following = lines[position + 1 : position + 2]
    changed = generator.choice(([line, line], [], [*following, line], [" ".join(words)]))
    return [*lines[:position], *changed, *lines[position + 1 + (changed == [*following, line] and len(following)) :]]


@pytest.mark.parametrize("seed", range(8))
def test_edits_have_the_interface_and_findings_of_a_fresh_read(seed: int, spec: Path) -> None:
    """Eight edits one after the other, each undone or not, with the parts of the runs before."""
    generator = random.Random(seed)
    where = api.Workspace(spec, ROOT / "templates", "specs")
    files = [*[spec / "types.yaml"] * 4, *[spec / "ops/example.yaml"] * 6, *[spec / "models/small.yaml"] * 2]
    for _ in range(8):
        path = generator.choice(files)
        before = path.read_text()
        path.write_text("\n".join(_edited(before.split("\n"), generator)))
        found, expected = Sink(), Sink()
        loaded, fresh = api.load(where, found), load_interface(spec, expected, "specs")
        assert loaded == fresh
        check_interface(fresh.interface, expected, complete=fresh.complete)
        tables = Parts("tables", ["a"])
        check_tables(loaded.interface, spec, "specs", tables, found)
        tables.save()
        check_models(fresh.interface, tuple(api.models(where, expected).values()), expected)
        assert found.sorted() == expected.sorted()
        if expected.has_errors or generator.random() < 0.3:
            path.write_text(before)


def test_files_follow_from_the_types(spec: Path) -> None:
    """A set of dtypes has one less: the functions of a file that did not change take one less."""
    where, types = api.Workspace(spec, ROOT / "templates", "specs"), spec / "types.yaml"

    def dtypes() -> object:
        return api.load(where, Sink(), check=False).interface.functions[0].params[1].dtype

    before = dtypes()
    text = types.read_text()
    types.write_text(text.replace("name: floating, of: [", "name: floating, of: [int8, "))
    assert types.read_text() != text
    assert dtypes() != before
    types.write_text(text)
    assert dtypes() == before


def test_a_file_with_findings_is_read_again(spec: Path) -> None:
    where, operators = api.Workspace(spec, ROOT / "templates", "specs"), spec / "ops/example.yaml"
    operators.write_text(operators.read_text().replace("2 * input", "2 * (input", 1))
    for _ in range(2):
        sink = Sink()
        api.load(where, sink)
        assert [found.code for found in sink.sorted()] == ["expression-syntax"]


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch, spec: Path) -> Callable[[], list[str]]:
    """Checks the tables, and returns the functions whose calls were looked at."""
    calls: list[str] = []
    work = ModelReader.resolved

    def counted(reader: ModelReader, call: ModelCall, sink: Sink) -> object:
        calls.append(call.function)
        return work(reader, call, sink)

    monkeypatch.setattr(ModelReader, "resolved", counted)

    def run() -> list[str]:
        calls.clear()
        sink, tables = Sink(), Parts("tables", ["a"])
        assert check_tables(load_interface(spec, Sink(), "specs").interface, spec, "specs", tables, sink) == 1
        tables.save()
        return [*calls, *(found.code for found in sink.sorted())]

    return run


def test_only_calls_of_a_changed_operator_are_checked_again(resolved: Callable[[], list[str]], spec: Path) -> None:
    both = ["diopiExample", "diopiOther"]
    operators, table = spec / "ops/example.yaml", spec / "models/small.yaml"
    text = operators.read_text()
    assert (resolved(), resolved()) == (both, [])
    operators.write_text(f"# a comment\n{text}")
    assert resolved() == []
    operators.write_text(text.replace("Another one.", "A third one."))
    assert resolved() == ["diopiOther"]
    operators.write_text(
        text.replace("    doc: An operator.\n", "").replace("name: Example", "doc: It.\n    name: Example")
    )
    assert resolved() == ["diopiExample", "diopiOther"], "which has the old text again"
    operators.write_text(operators.read_text().replace("doc: It.", "doc: This."))
    assert resolved() == ["diopiExample"]
    table.write_text(TABLE.replace("[4]", "[5]"))
    assert resolved() == both


@pytest.mark.parametrize("line_break", ["\r", "\r\n", "\x85", "\u2028"])
def test_lines_are_counted_as_by_yaml(line_break: str, resolved: Callable[[], list[str]], spec: Path) -> None:
    operators = spec / "ops/example.yaml"
    text = f"#{line_break}" * 12 + "# comment\n" + operators.read_text()
    operators.write_text(text, newline="")
    assert (resolved(), resolved()) == (["diopiExample", "diopiOther"], [])
    operators.write_text(text.replace("dtype: [floating]", "dtype: [integral]", 1), newline="")
    assert resolved() == ["diopiExample", "model-dtype"]


def test_a_finding_is_found_again(resolved: Callable[[], list[str]], spec: Path) -> None:
    operators = spec / "ops/example.yaml"
    text = operators.read_text()
    assert resolved() == ["diopiExample", "diopiOther"]
    operators.write_text(text.replace("dtype: [floating]", "dtype: [integral]", 1))
    for _ in range(2):
        assert resolved() == ["diopiExample", "model-dtype"]


@pytest.mark.slow
def test_the_real_spec_is_the_same_from_parts(tmp_path: Path) -> None:
    spec = tmp_path / "real/specs"
    shutil.copytree(ROOT / "specs", spec)
    where = api.Workspace(spec, ROOT / "templates", "specs")
    path = spec / "ops/loss.yaml"
    for text in (path.read_text(), path.read_text().replace("\n    doc: ", "\n    doc: Also ", 1)):
        path.write_text(text)
        with no_collection():
            loaded = [api.load(where, Sink(), check=False) for _ in range(2)]
            fresh = load_interface(spec, Sink(), "specs")
        plans = [api.plan(one.interface, where, Sink(), ("json", "conformance", "torch")) for one in (*loaded, fresh)]
        assert plans[0] == plans[1] == plans[2]
