"""The OpenAI server of vLLM on the loopback: `vllm serve` with the engine in a process of its own."""

from __future__ import annotations

import concurrent.futures
import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_models

PROMPTS = [[(5 * index + 3 * number) % 256 for index in range(4 + number % 9)] for number in range(64)]
GREEDY = {"model": "tiny", "temperature": 0, "max_tokens": 8, "ignore_eos": True, "return_token_ids": True}


class Server:
    """A running server, and what it prints."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        program = str(Path(sys.executable).parent / "vllm")
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", "tiny", "--dtype", "float32"]
        options += ["--max-model-len", "128", "--max-num-seqs", "64", "--kv-cache-memory-bytes", str(8 << 20)]
        variables = {name: value for name, value in environment.items() if name != "VLLM_ENABLE_V1_MULTIPROCESSING"}
        self.process = subprocess.Popen(
            [program, "serve", str(folder), *options],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self.settled = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        self.settled.wait()
        assert self.process.poll() is None, "".join(self.lines)[-6000:]

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line)
            if "Application startup complete" in line:
                self.settled.set()
        self.process.wait()
        self.settled.set()

    def open(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        return urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers))

    def complete(self, **body: Any) -> Any:
        with self.open("/v1/completions", {**GREEDY, **body}) as response:
            return json.load(response)["choices"][0]

    def counter(self, name: str) -> float:
        """The value of a line of the metrics, 0 if there is none."""
        with self.open("/metrics") as response:
            lines = response.read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if name in line and not line.startswith("#"))


@pytest.fixture(scope="module")
def folder(models: Callable[[str], Path]) -> Path:
    path = models("llama")
    tiny_models.save_tokenizer(path)
    return path


@pytest.fixture(scope="module")
def server(folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    running = Server(folder, environment)
    yield running
    running.process.terminate()
    running.process.wait()


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[list[int]]:
    return tiny_models.greedy(tiny_models.load(folder), PROMPTS, 8)


def test_completions_of_sixty_four_clients(server: Server, expected: list[list[int]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(64) as clients:
        choices = list(clients.map(lambda prompt: server.complete(prompt=prompt), PROMPTS))
    assert [choice["token_ids"] for choice in choices] == expected


def events(response: Any) -> Iterator[Any]:
    for line in response:
        text = line.decode().strip().removeprefix("data: ")
        if text and text != "[DONE]":
            yield json.loads(text)


def test_a_stream_has_the_tokens_one_by_one(server: Server, expected: list[list[int]]) -> None:
    with server.open("/v1/completions", {**GREEDY, "prompt": PROMPTS[5], "stream": True}) as response:
        pieces = [event["choices"][0].get("token_ids") or [] for event in events(response)]
    assert len(pieces) > 1
    assert [token for piece in pieces for token in piece] == expected[5]


def test_a_request_that_its_client_leaves_ends(server: Server, expected: list[list[int]]) -> None:
    before, most = server.counter("vllm:generation_tokens_total"), 110
    response = server.open("/v1/completions", {**GREEDY, "prompt": PROMPTS[5], "stream": True, "max_tokens": most})
    next(events(response))
    assert server.counter("vllm:num_requests_running") == 1
    response.close()
    completions = 0
    while server.counter("vllm:num_requests_running") > 0:  # the server learns of it between two steps
        assert server.complete(prompt=PROMPTS[6])["token_ids"] == expected[6]
        completions += 1
    generated = server.counter("vllm:generation_tokens_total") - before - 8 * completions
    assert 0 < generated < most


def test_a_chat_chooses(server: Server) -> None:
    body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "A number"}],
        "structured_outputs": {"choice": ["river", "lake"]},
        "temperature": 0,
    }
    with server.open("/v1/chat/completions", body) as response:
        assert json.load(response)["choices"][0]["message"]["content"] in ("river", "lake")
