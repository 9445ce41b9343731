"""The backend of droplet, built once per run and loaded into this process; at the end no byte may be left on it.

This folder is a run of its own (`pytest tests/pytorch`): what it loads offers the interface's functions to
every library that comes after it, so tests that load other libraries must not share the process. It is not
called tests/torch: where torch is not installed, `import torch` would find that folder.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "examples"), str(ROOT / "examples/droplet")]


def pytest_configure(config: pytest.Config) -> None:
    others = [word for word in config.args if "tests/pytorch" not in str(Path(word.split("::")[0]).resolve())]
    if others:
        raise pytest.UsageError(f"tests/pytorch is a run of its own: pytest tests/pytorch, without {' '.join(others)}")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Any:
    """The built libraries. With pytest-xdist the first worker builds, the others wait. Libraries that the environment
    names are taken as they are."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)  # the workers of pytest-xdist share the processors
    import torch_build

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"process {os.getpid()}")
    return torch_build.given() or torch_build.build_once(run)


@pytest.fixture(scope="session")
def torch_droplet(backend: Any, request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The package, loaded. Fails in the end where tensors are left, unless a test failed, whose report keeps some."""
    os.environ.update(backend.environment())
    import torch_droplet

    yield torch_droplet
    if request.session.testsfailed == 0:
        left = bytes_left()
        assert not any(left.values()), f"bytes left on devices: {left}"


@pytest.fixture(scope="session")
def droplet(torch_droplet: ModuleType) -> Any:
    """The device that tests compute on."""
    import torch

    return torch.device("droplet", 0)


@pytest.fixture
def nothing_left(droplet: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails where a test leaves more on the devices than it found; the report of one that fails keeps some."""
    before, failed = bytes_left(), request.session.testsfailed
    yield
    after = bytes_left()
    assert after == before or request.session.testsfailed > failed, f"{before} bytes before the test, {after} after it"


@pytest.fixture
def fallbacks(torch_droplet: ModuleType) -> Iterator[Any]:
    """What ran on the CPU since the test began: a function that gives calls by overload."""
    torch_droplet.reset_fallback_report()
    yield torch_droplet.fallback_report


def bytes_left() -> dict[int, int]:
    """Bytes that tensors hold, by device."""
    import torch

    gc.collect()
    module = torch.get_device_module("droplet")
    return {index: module.memory_allocated(index) for index in range(module.device_count())}
