"""PyTorch's own test files on droplet: how many of their tests pass, and why the others do not.

`python tests/pytorch/torch_tests.py FOLDER [NAME ...] [--share N]` runs each `test_NAME.py` of a folder in a process of
its own and prints a line of a table for it. The folder is `test` of PyTorch's repository, as of the installed release.
It fails where a test fails for a reason that torch_tests.yaml does not name. This module is also the plugin of those
processes: it picks the tests for the device, and one of them that hangs ends its worker alone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/tests/pytorch/torch_tests"
REASONS: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
SECONDS = 300
"""The longest that one test may take."""
VARIABLES = ("TORCH_TESTS_RESULTS", "TORCH_TESTS_SHARE")


def pytest_configure() -> None:
    import torch_droplet  # noqa: F401  before torch.testing._internal asks which devices there are


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share = int(os.environ["TORCH_TESTS_SHARE"])
    picked = [item for item in items if "droplet" in item.name and zlib.crc32(item.name.encode()) % share == 0]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(picked)])
    items[:] = picked


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def pytest_runtest_logreport(report: Any) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ or (report.when != "call" and report.outcome == "passed"):
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    text = "" if report.outcome != "failed" else crash.message if crash is not None else str(report.longrepr)
    with Path(os.environ["TORCH_TESTS_RESULTS"]).open("a") as results:
        print(json.dumps({"test": report.nodeid, "outcome": report.outcome, "text": text}), file=results)


def run(file: Path, results: Path, share: int, environment: dict[str, str]) -> None:
    """Runs the tests of a file. Raises `RuntimeError` with what pytest printed if it could not."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    settings = dict(zip(VARIABLES, (str(results), str(share)), strict=True))
    paths = os.pathsep.join([str(Path(__file__).parent), environment.get("PYTHONPATH", "")])
    call = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "-p", "torch_tests", file.name]
    # Not those of a run that this one is a part of: a worker would take its own workers' results for its own.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables = {**own, **environment, **settings, "PYTHONPATH": paths}
    variables["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = "privateuse1"
    done = subprocess.run(call, cwd=file.parent, env=variables, capture_output=True, text=True, check=False)
    results.with_suffix(".txt").write_text(done.stdout + done.stderr)
    if not results.exists():
        raise RuntimeError(f"{file.name} ran no test:\n{(done.stdout + done.stderr)[-2000:]}")


def reason(test: str, text: str) -> str | None:
    """Why a test fails, as torch_tests.yaml has it."""
    return next((r["why"] for r in REASONS if re.search(r["tests"], test) and re.search(r["says"], text)), None)


def line(name: str, results: list[dict[str, str]]) -> str:
    outcomes = Counter(entry["outcome"] for entry in results)
    failed = [reason(entry["test"], entry["text"]) for entry in results if entry["outcome"] == "failed"]
    kinds = "; ".join(f"{number} {why}" for why, number in Counter(failed).most_common() if why is not None)
    unexplained = failed.count(None)
    return f"| `{name}` | {outcomes['passed']} | {outcomes['skipped']} | {unexplained} | {kinds or 'none'} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path, help="has PyTorch's test files")
    parser.add_argument("names", nargs="*", help="files without test_ and .py; all of the folder if there are none")
    parser.add_argument("--share", type=int, default=1, help="runs one of so many tests")
    parser.add_argument("--again", action="store_true", help="prints the table of the last run")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools"))
    import torch_build

    backend = torch_build.given() or torch_build.located(torch_build.SHARED)
    if not backend.torch.exists():
        parser.error(f"{backend.torch} does not exist: `make demo-torch` builds it")
    names = arguments.names or sorted(file.stem[5:] for file in arguments.folder.glob("test_*.py"))
    if missing := [name for name in names if not (arguments.folder / f"test_{name}.py").exists()]:
        parser.error(f"{arguments.folder} does not have " + ", ".join(f"test_{name}.py" for name in missing))
    print("| file | passed | skipped | failed | failed for a reason |\n| --- | --- | --- | --- | --- |")
    unexplained = []
    for name in names:
        results = RESULTS / f"{name}.jsonl"
        if not arguments.again:
            environment = {**backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH}
            run(arguments.folder.resolve() / f"test_{name}.py", results, arguments.share, environment)
        entries = [json.loads(text) for text in results.read_text().splitlines()]
        print(line(name, entries), flush=True)
        unexplained += [e for e in entries if e["outcome"] == "failed" and reason(e["test"], e["text"]) is None]
    for entry in unexplained:
        print(f"{entry['test']}: {entry['text'].splitlines()[0]}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
