"""`diopigen watch`, in a process of its own: a block for each change, and 130 after Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import small_spec

from diopigen.commands import watch as watch_command

WAIT = 120


class Watcher:
    """A running watch, read block by block."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "diopigen", "watch", "--interval", "0.1", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self.output: IO[str] = self.process.stdout

    def block(self) -> str:
        """The lines up to the end of a run, without the time."""
        lines: list[str] = []
        for line in self.output:
            lines.append(line)
            if line.startswith("-- exit code"):
                return re.sub(r"^== \d\d:\d\d:\d\d ", "== ", "".join(lines))
        raise AssertionError(f"the watch ended: {''.join(lines)}")

    def interrupt(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        self.output.read()
        return self.process.wait(WAIT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_spec.write(tmp_path / "specs")
    return tmp_path


@pytest.fixture
def watch(folder: Path) -> Iterator[Watcher]:
    watcher = Watcher(folder)
    yield watcher
    watcher.process.kill()
    watcher.process.wait()


CLEAN = "1 functions in 3 files, 0 model tables: nothing found\n-- exit code 0\n"


def test_a_block_for_each_change_until_it_is_interrupted(folder: Path, watch: Watcher) -> None:
    assert watch.block() == f"== the first run\n{CLEAN}"
    operators = folder / "specs/ops/example.yaml"
    operators.write_text(small_spec.OPERATOR.replace("2 * input", "2 * inptu"))
    block = watch.block()
    assert block.startswith("== specs/ops/example.yaml changed\nspecs/ops/example.yaml:9:17: error[unknown-operand]: ")
    assert block.endswith("\n1 error\n-- exit code 1\n")
    operators.write_text(small_spec.OPERATOR)
    assert watch.block() == f"== specs/ops/example.yaml changed\n{CLEAN}"
    (folder / "diopigen.yaml").write_text("strict: true\n")
    assert watch.block() == f"== diopigen.yaml is new\n{CLEAN}"
    assert watch.interrupt() == 130


def test_a_run_of_changed_sources_is_a_new_process(capfd: pytest.CaptureFixture[str]) -> None:
    """Modules of this process would be older than the files."""
    watch_command._run(b"another digest", [["explain", "no-such-rule"]], ["a file"])
    assert "-- exit code 2" in capfd.readouterr().out


def test_the_spec_stays_the_one_of_the_beginning(folder: Path, watch: Watcher) -> None:
    watch.block()
    (folder / "specs").rename(folder / "away")
    block = watch.block()
    assert "error[spec-missing]" in block and block.endswith("-- exit code 2\n")


@pytest.mark.slow
def test_it_generates_on_request_where_check_finds_no_error(folder: Path) -> None:
    (folder / "diopigen.yaml").write_text("targets: [json]\n")
    watch = Watcher(folder, "--generate")
    try:
        assert watch.block().endswith("generated: 2 written, 0 removed, 0 unchanged\n-- exit code 0\n")
        header = folder / "generated/diopi.json"
        written = header.stat().st_mtime_ns
        operators = folder / "specs/ops/example.yaml"
        operators.write_text(small_spec.OPERATOR.replace("An operator.", "no sentence"))
        assert watch.block().endswith("-- exit code 1\n")
        assert header.stat().st_mtime_ns == written
        operators.write_text(small_spec.OPERATOR.replace("An operator.", "Another operator."))
        assert "2 written" in watch.block()
        assert watch.interrupt() == 130
    finally:
        watch.process.kill()
        watch.process.wait()
