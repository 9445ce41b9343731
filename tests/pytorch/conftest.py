"""The backend of droplet, loaded into this process; at the end no byte may be left on it.

This folder is a run of its own (`pytest tests/pytorch`): what it loads offers the interface's functions to
every library that comes after it, so tests that load other libraries must not share the process. It is not
called tests/torch: where torch is not installed, `import torch` would find that folder.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from artefacts import artefact
from sampling import picked

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("tools", "examples", "examples/droplet", "diopi_torch/src")]


SHARES = {
    "test_opinfo.py": 12,
    "test_module_db.py": 6,
    "test_elementwise_kernels.py": 4,
    "test_fused_rows.py": 3,
    "test_indexing_kernels.py": 4,
    "test_cuda_library.py": 5,
    "test_models.py": 6,
    "test_custom_operator_cases.py": 4,
    "test_compile_effects.py": 4,
}
"""Files of many like tests, of which a change runs one in so many. `make test-torch` runs all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        share = SHARES.get(item.path.name)
        if share is not None and "[" in item.name and not picked(item.nodeid.partition("tests/")[2], share):
            item.add_marker("slow")


def pytest_configure(config: pytest.Config) -> None:
    others = [word for word in config.args if "tests/pytorch" not in str(Path(word.split("::")[0]).resolve())]
    if others:
        raise pytest.UsageError(f"tests/pytorch is a run of its own: pytest tests/pytorch, without {' '.join(others)}")
    if missing := [name for name in ("torch", "expecttest") if importlib.util.find_spec(name) is None]:
        raise pytest.UsageError(f"tests/pytorch needs {' and '.join(missing)}: `make test-torch` installs them")


@pytest.fixture(scope="session")
def backend() -> Any:
    """The libraries as the preset `torch` of the root build leaves them. Those that the environment names are taken as
    they are."""
    import torch

    torch.set_num_threads(1)  # the workers of pytest-xdist share the processors
    import torch_build

    return torch_build.given() or torch_build.Backend(
        artefact("droplet/clean/libtorch_droplet.so"),
        artefact("droplet/clean/libdiopi_impl.so"),
        artefact("libdiopi_impl.so"),
    )


@pytest.fixture(scope="session")
def torch_droplet(
    backend: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModuleType]:
    """The package, loaded. Fails in the end where tensors are left, unless a test failed, whose report keeps some."""
    os.environ.update(backend.environment())
    os.environ.setdefault("DIOPI_KERNEL_CACHE", str(tmp_path_factory.mktemp("kernels")))
    os.environ.setdefault("DIOPI_COMPILE_CACHE", "0")  # what a test compiles is planned by it
    import torch_droplet

    yield torch_droplet
    if request.session.testsfailed == 0:
        from left_bytes import bytes_left, left_by_pytorch

        left = {index: held - left_by_pytorch[index] for index, held in bytes_left().items()}
        assert not any(left.values()), f"bytes left on devices: {left}"


@pytest.fixture(scope="session")
def droplet(torch_droplet: ModuleType) -> Any:
    """The device that tests compute on."""
    import torch

    return torch.device("droplet", 0)


@pytest.fixture
def nothing_left(droplet: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails where a test leaves more on the devices than it found; the report of one that fails keeps some."""
    from left_bytes import bytes_left

    before, failed = bytes_left(), request.session.testsfailed
    yield
    after = bytes_left()
    assert after == before or request.session.testsfailed > failed, f"{before} bytes before the test, {after} after it"


@pytest.fixture(scope="module")
def graphs(torch_droplet: ModuleType) -> ModuleType:
    """The module with the backend of torch.compile."""
    return importlib.import_module("diopi_torch.graphs")


@pytest.fixture(scope="session")
def export(torch_droplet: ModuleType) -> ModuleType:
    """The module that saves graphs and loads them."""
    return importlib.import_module("diopi_torch.export")


@pytest.fixture
def fresh_compiler(torch_droplet: ModuleType) -> Iterator[None]:
    """A test compiles for itself, from the same random numbers, and leaves no program."""
    import torch

    torch._dynamo.reset()
    torch_droplet.reset_fallback_report()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    gc.collect()


@pytest.fixture
def fallbacks(torch_droplet: ModuleType) -> Iterator[Any]:
    """Calls that ran on the CPU since the test began: a function that gives calls by overload."""
    torch_droplet.reset_fallback_report()
    yield torch_droplet.fallback_report


@pytest.fixture
def all_patterns(patterns: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose function is in the library behind droplet's."""
    monkeypatch.setenv("DIOPI_COMPILE_PATTERNS", ",".join(patterns.registered()))


@pytest.fixture(scope="module")
def patterns(torch_droplet: ModuleType) -> ModuleType:
    """The module that replaces."""
    return importlib.import_module("diopi_torch.patterns")


@pytest.fixture
def outcome(graphs: ModuleType, patterns: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Compiles a function, and gives its results with the notes of the patterns."""
    import torch

    def run(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, list[Any]]:
        notes: list[Any] = []
        matched = patterns.matched

        def record(graph: Any) -> list[Any]:
            found = matched(graph)
            notes.extend(found)
            return list(found)

        with monkeypatch.context() as patch:
            patch.setattr(patterns, "matched", record)
            result = torch.compile(function, backend=graphs.backend, **options)(*arguments)
        return result, notes

    return run
