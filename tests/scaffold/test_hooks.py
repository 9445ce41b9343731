"""The hooks for pre-commit name commands that exist, and these fail where they should."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from vendor_trees import ROOT, command

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

HEADERS_ONLY = ("--target", "headers")  # as `args` of the hook would say: the other targets take longer


@pytest.fixture()
def repository(tmp_path: Path) -> Path:
    """A repository with a spec and what is generated from it."""
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    done = command("generate", *HEADERS_ONLY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def run_hook(name: str, cwd: Path, *more: str) -> int:
    program, *arguments = HOOKS[name]["entry"].split()
    assert program == "diopigen"
    return command(*arguments, *more, cwd=cwd).returncode


def test_every_hook_is_complete() -> None:
    assert set(HOOKS) == {"diopigen-check", "diopigen-generate-check"}
    for hook in HOOKS.values():
        assert hook["language"] == "python" and hook["pass_filenames"] is False
        assert re.match(hook["files"], "specs/ops/norm.yaml")
        assert not re.match(hook["files"], "README.md")


@pytest.mark.slow
def test_the_hooks_pass_and_fail(repository: Path) -> None:
    assert run_hook("diopigen-check", repository) == 0
    assert run_hook("diopigen-generate-check", repository, *HEADERS_ONLY) == 0
    norm = repository / "specs/ops/norm.yaml"
    norm.write_text(norm.read_text().replace("    doc: ", "    doc: Changed. ", 1))
    assert run_hook("diopigen-generate-check", repository, *HEADERS_ONLY) == 1
    norm.write_text(norm.read_text().replace("direction: in,", "direction: inn,", 1))
    assert run_hook("diopigen-check", repository) == 1
