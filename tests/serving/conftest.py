"""Serving with vLLM: a run of its own, in an environment of its own (`make test-serving`, docs/serving.md).

Every engine runs in a process of its own (`engine_program.py`): what one leaves behind cannot help another.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

# Found by the path above, so they cannot be among the first imports.
from built import BUILT  # noqa: E402
from torch_build import Backend, given  # noqa: E402

PACKAGES = Path(sys.prefix) / "droplet"
"""The package of droplet (tools/install_serving.py): without it on the path the environment has no device."""
LIBRARIES = ("droplet/clean/libtorch_droplet.so", "droplet/clean/libdiopi_impl.so", "libdiopi_impl.so")
"""Of the preset `torch`: what PyTorch loads, the vendor's, and the one that runs what the vendor lacks."""
Run = Callable[..., dict[str, Any]]
"""Runs a job of `engine_program.py` and returns its results."""


def pytest_configure(config: pytest.Config) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # tiny models: more threads wait for each other
    os.environ["PYTHONPATH"] = str(PACKAGES)
    sys.path.insert(0, str(PACKAGES))
    if missing := [name for name in ("torch", "vllm", "transformers") if importlib.util.find_spec(name) is None]:
        raise pytest.UsageError(f"tests/serving needs {' and '.join(missing)}: run `make test-serving`")
    # torch loads the backend when it is imported, by the tests as well.
    if given() is None:
        backend = Backend(*(BUILT / name for name in LIBRARIES))
        if missing := [str(path) for path in (backend.torch, backend.vendor, backend.reference) if not path.is_file()]:
            raise pytest.UsageError(f"{' and '.join(missing)} not built: run `make test-serving`")
        os.environ.update(backend.environment())


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Variables of a process that serves on droplet, without a network."""
    return {
        **os.environ,
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    }


@pytest.fixture(scope="session")
def engines(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The process that starts engines."""
    command = [sys.executable, str(HERE / "engine_program.py")]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def run(engines: subprocess.Popen[str], tmp_path: Path) -> Run:
    """Runs an engine, and fails with the end of what it printed."""

    def run(**job: Any) -> dict[str, Any]:
        assert engines.stdin is not None and engines.stdout is not None
        paths = [tmp_path / name for name in ("job.json", "results.json", "log")]
        paths[0].write_text(json.dumps(job))
        print(*paths, file=engines.stdin, flush=True)
        # vLLM may print lines of its own while it is imported.
        status = next(
            (line for line in iter(engines.stdout.readline, "") if re.fullmatch(r"-?\d+\n", line)), "no status"
        )
        assert status == "0\n", paths[2].read_text()[-6000:]
        results: dict[str, Any] = json.loads(paths[1].read_text())
        return results

    return run


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a tiny model by name, which is created once."""
    import tiny_models

    folder = tmp_path_factory.mktemp("models")

    def model(name: str) -> Path:
        path = folder / name
        if not path.is_dir():
            tiny_models.save(name, path)
        return path

    return model
