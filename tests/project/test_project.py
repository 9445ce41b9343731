"""`diopigen.yaml`: what is read, where faults are, and that the command line wins."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import jsonschema
import pytest
import small_spec

from diopigen.cli import cli, main
from diopigen.diagnostics import Diagnostic, Failure, Severity
from diopigen.findings.render import render
from diopigen.project.file import Project, read_project
from diopigen.project.grammar import COMMON, DEFAULTS, SHAPE, json_schema
from diopigen.project.options import defaults
from diopigen.project.severity import WeightedSink

MINIATURE = Path(__file__).parents[1] / "data/miniature"
FULL = """\
spec: interface
templates: forms
out: build/generated
targets: [headers, json]
vendor: impl/acme
jobs: 3
format: json
strict: true
docs_url: https://example.org/diopi
severity: {missing-oracle: ignore, draft-done: error}
"""


def read(folder: Path, text: str) -> Project:
    (folder / "diopigen.yaml").write_text(text)
    return read_project(folder / "diopigen.yaml")


def test_every_key_is_read_and_paths_are_those_of_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, FULL)
    assert found.values == {
        "spec": str(tmp_path / "interface"),
        "templates": str(tmp_path / "forms"),
        "out": str(tmp_path / "build/generated"),
        "targets": ["headers", "json"],
        "vendor": str(tmp_path / "impl/acme"),
        "jobs": 3,
        "format": "json",
        "strict": True,
    }
    assert found.severity == {"missing-oracle": None, "draft-done": Severity.ERROR}
    assert found.docs_url == "https://example.org/diopi"


@pytest.mark.parametrize("text", ["", "# spec: interface\n"])
def test_a_file_of_comments_has_no_settings(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text).values == {}


BAD = {
    "unknown-key": ("spce: specs\n", "diopigen.yaml:1:1: error[unknown-key]: unknown key 'spce' in the diopigen.yaml"),
    "wrong-kind": ("jobs: many\n", "diopigen.yaml:1:7: error[wrong-kind]: 'jobs' must be an integer of at least 1"),
    "out-of-range": ("jobs: 0\n", "diopigen.yaml:1:7: error[out-of-range]: 'jobs' must be at least 1"),
    "unknown-word": (
        "severity:\n  missing-oracle: nothing\n",
        "diopigen.yaml:2:19: error[unknown-word]: 'missing-oracle' cannot be 'nothing'",
    ),
    "unknown-severity-rule": (
        "severity:\n  missing-oracel: note\n",
        "diopigen.yaml:2:3: error[unknown-severity-rule]: there is no rule 'missing-oracel'",
    ),
    "yaml-ambiguous": (
        "severity:\n  missing-oracle: off\n",
        "diopigen.yaml:2:19: error[yaml-ambiguous]: 'off' means different things to different YAML readers",
    ),
    "bad-name": ("docs_url: here\n", "diopigen.yaml:1:11: error[bad-name]: 'docs_url' must be an http address, not"),
}


@pytest.mark.parametrize("rule", BAD)
def test_a_fault_has_its_position(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, expected = BAD[rule]
    monkeypatch.chdir(tmp_path)
    Path("diopigen.yaml").write_text(text)
    with pytest.raises(Failure) as fault:
        read_project(Path("diopigen.yaml"))
    assert render(fault.value.diagnostics, "text").startswith(expected)


def test_a_fault_ends_any_command_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("diopigen.yaml").write_text("spce: specs\n")
    with pytest.raises(SystemExit) as ended:
        main(["generate", "--list-targets"])
    assert ended.value.code == 2
    assert "  fix: did you mean 'spec'?\n" in capsys.readouterr().err


def parameters(group: click.Group, prefix: str = "") -> dict[str, set[str | None]]:
    found: dict[str, set[str | None]] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= parameters(command, f"{prefix}{name} ")
        else:
            found[prefix + name] = {parameter.name for parameter in command.params}
    return found


def test_every_key_is_the_default_of_a_parameter_that_there_is() -> None:
    known = parameters(cli)
    for entries in DEFAULTS.values():
        for command, parameter in entries:
            assert parameter in known[command], (command, parameter)
    assert {*DEFAULTS, *COMMON, "severity", "docs_url"} == set(SHAPE.fields)


def test_a_key_is_not_the_default_of_another_meaning(tmp_path: Path) -> None:
    found = defaults(read(tmp_path, FULL), cli)
    assert found["check"]["strict"] is True
    assert found["conformance"]["coverage"] == {"spec": str(tmp_path / "interface")}
    assert found["conformance"]["run"]["jobs"] == 3
    assert found["generate"]["selected"] == ["headers", "json"]


def diopigen(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "diopigen", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(MINIATURE, tmp_path / "interface")
    return tmp_path


def test_the_command_line_wins_over_the_file(folder: Path) -> None:
    (folder / "diopigen.yaml").write_text("spec: interface\nout: one\ntargets: [schemas]\n")
    done = diopigen(folder, "generate")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("one: ") and (folder / "one/schema/ops.schema.json").exists()
    assert not (folder / "one/diopi.json").exists()
    done = diopigen(folder, "generate", "--out", "two", "--target", "json")
    assert done.stdout.startswith("two: ") and (folder / "two/diopi.json").exists()
    (folder / "elsewhere").mkdir()
    done = diopigen(folder / "elsewhere", "--config", "../diopigen.yaml", "generate")
    files = [path for path in (folder / "one").rglob("*") if path.is_file()]
    assert done.stdout == f"../one: 0 written, 0 removed, {len(files)} unchanged\n", done.stderr


DRAFT = small_spec.OPERATOR.replace("    params:", "    draft: true\n    params:")


def test_severities_hold_in_check(folder: Path) -> None:
    shutil.rmtree(folder / "interface")
    small_spec.write(folder / "interface", DRAFT)
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: json\n")
    assert severities(diopigen(folder, "check"))["draft-done"] == "warning"
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: json\nseverity: {draft-done: error}\n")
    done = diopigen(folder, "check")
    assert (done.returncode, severities(done)["draft-done"]) == (1, "error")
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: json\nseverity: {draft-done: ignore}\n")
    assert "draft-done" not in severities(diopigen(folder, "check"))
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: json\nstrict: true\n")
    assert diopigen(folder, "check").returncode == 1
    assert diopigen(folder, "check", "--no-strict").returncode == 0


def severities(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {found["code"]: found["severity"] for found in json.loads(done.stdout)["diagnostics"]}


def test_an_error_of_what_is_not_read_stays_an_error() -> None:
    sink = WeightedSink({"unknown-dtype": Severity.NOTE, "arity": Severity.NOTE, "yaml-key": None}, "diopigen.yaml")
    for rule in ("unknown-dtype", "arity", "yaml-key"):
        sink.add(Diagnostic(rule, Severity.ERROR, "it is wrong"))
    assert {found.code: found.severity.value for found in sink.sorted()} == {
        "unknown-dtype": "error",
        "arity": "note",
        "yaml-key": "error",
    }
    retained = {found.code: [note.message for note in found.notes] for found in sink.sorted()}
    assert retained["yaml-key"] == ["diopigen.yaml cannot lower it: what has this error is not read"]


def test_the_schema_accepts_what_the_reader_accepts(tmp_path: Path) -> None:
    import yaml

    validator = jsonschema.Draft7Validator(json_schema())
    assert validator.is_valid(yaml.safe_load(FULL))
    for text in ("spce: specs\n", "jobs: many\n", "jobs: 0\n", "docs_url: here\n", "severity: {a-b: nothing}\n"):
        assert not validator.is_valid(yaml.safe_load(text)), text
        with pytest.raises(Failure):
            read(tmp_path, text)


def test_sarif_names_the_page_of_each_rule(folder: Path) -> None:
    operators = folder / "interface/ops/arithmetic.yaml"
    operators.write_text(operators.read_text().replace("dtype: [number, bool]", "dtype: [flaot32]"))
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: sarif\n")
    (rule,) = json.loads(diopigen(folder, "check").stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "unknown-dtype" and rule["help"]["text"].startswith("unknown-dtype: A dtype")
    assert rule["helpUri"] == f"{(MINIATURE.parents[2] / 'docs/spec.md').as_uri()}#dtype"
    (folder / "diopigen.yaml").write_text("spec: interface\nformat: sarif\ndocs_url: https://example.org/diopi/\n")
    (rule,) = json.loads(diopigen(folder, "check").stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://example.org/diopi/rules.html#unknown-dtype"
