"""The commands: what they reject before they listen or connect, and a session of both."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diopigen.cli import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", ["serve", "submit"])
@pytest.mark.parametrize("words", [[], ["--socket", "s", "--port", "1"], ["--socket", "s", "--token-file", "t"]])
def test_an_address_is_a_socket_or_a_port(command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command, *words])
    assert "--socket" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--request", "--token-file", "--source"])
@pytest.mark.parametrize("content", [None, b"\x7fELF\0\0\xff", b"", "folder"])
def test_a_file_that_cannot_be_sent_is_named(
    option: str, content: bytes | str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    words = ["submit", "--port", "1", option, str(path)]
    with pytest.raises(SystemExit, match="2"):
        main(words)
    error = capsys.readouterr().err
    assert (str(path) if content != b"" or option == "--request" else "no server on port 1") in error
    assert "internal" not in error


@pytest.mark.slow
def test_a_server_serves_by_a_port_with_a_token_until_it_is_ended(tmp_path: Path, tiny_library: Path) -> None:
    token, program = tmp_path / "token", [sys.executable, "-m", "diopigen.cli"]
    server = subprocess.Popen([*program, "serve", "--port", "0", "--token-file", str(token)], stdout=subprocess.PIPE,
                              text=True, cwd=ROOT)  # fmt: skip
    assert server.stdout is not None
    port = server.stdout.readline().split(",")[0].rpartition(":")[2]
    assert token.stat().st_mode & 0o777 == 0o600
    submit = [*program, "submit", "--port", port, "--lib", str(tiny_library), "--stages", "exports", "--format", "json"]
    without = subprocess.run([*submit, "--ops", "diopiRelu"], capture_output=True, text=True, check=False)
    assert (without.returncode, json.loads(without.stdout)["code"]) == (2, "token-rejected")
    submit += ["--token-file", str(token)]
    passed = subprocess.run([*submit, "--ops", "diopiRelu"], capture_output=True, text=True, check=False)
    assert (passed.returncode, json.loads(passed.stdout.splitlines()[-1])["status"]) == (0, "passed")
    failed = subprocess.run([*submit, "--ops", "diopiNeg"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    server.send_signal(signal.SIGTERM)
    assert server.wait() == 0 and not token.exists()
