"""Shared by all tests: the real interface, the emitted headers, and the handling of a missing tool."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import sampling

from diopigen import api
from diopigen.conformance.cases.stored import StoredCases
from diopigen.conformance.model import Case
from diopigen.diagnostics import Sink
from diopigen.emit.plan import Plan
from diopigen.ir.load import Loaded
from diopigen.ir.model import Function, Interface
from diopigen.output import cache

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes says something about the machine alone.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

for shared in ("header", "host_calls", "published_calls", "conformance"):  # for more than one folder
    sys.path.insert(0, str(Path(__file__).parent / shared))


def pytest_configure(config: pytest.Config) -> None:
    """Caches the data that commands derive from the spec while the tests of a change run, in a cache that is empty at
    the start. The whole run, with `slow` tests, does without (tests/output has those of the cache itself)."""
    sampling.RUNS_ALL = "not slow" not in str(config.option.markexpr)
    # The cmake, ninja and clang-format that the project pins come first, however pytest was called.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if hasattr(config, "workerinput"):
        return  # the controller's folder comes with the environment
    os.environ["DIOPIGEN_CACHE"] = "off"
    if not sampling.RUNS_ALL:
        os.environ["DIOPIGEN_CACHE"] = saved = tempfile.mkdtemp(prefix="diopigen-cache-")
        config.add_cleanup(lambda: shutil.rmtree(saved, ignore_errors=True))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """tests/pytorch loads what other tests must not find, and tests/serving has an environment of its own: they run
    where they are asked for, alone."""
    if collection_path not in (ROOT / "tests/pytorch", ROOT / "tests/serving"):
        return None
    asked = [Path(word.split("::")[0]).resolve() for word in config.args]
    return None if any(path.is_relative_to(collection_path) for path in asked) else True


BUILT = ("adaptor", "collectives", "cpu", "cuda", "dispatch", "docs", "droplet", "kestrel", "runtime", "sim")
"""Folders whose tests run what the root build made. Those of conformance ask for these fixtures:"""
BUILT_FIXTURES = {"runtime", "tiny_library"}
HEAVY = (
    "check/test_bad_specs.py",
    "check/test_check_knows_what_generate_refuses.py",
    "check/test_damaged_specs.py",
    "chip/test_chip_header.py",
    "cli/test_adaptors_command.py",
    "cli/test_adaptors_explain.py",
    "cli/test_generate.py",
    "cli/test_headers_commands.py",
    "cli/test_imported_drafts.py",
    "cli/test_path_arguments.py",
    "conformance/test_*_against_*.py",
    "conformance/test_boundary_cases.py",
    "conformance/test_c_binding.py",
    "conformance/test_case_selection.py",
    "conformance/test_coverage_of_cases.py",
    "conformance/test_library_lookup.py",
    "conformance/test_model_tables.py",
    "conformance/test_oracle*.py",
    "conformance/test_pytest_plugin.py",
    "conformance/test_variation_cases.py",
    "config/test_config_properties.py",
    "docs_site/*",
    "emit/test_conformance_configs.py",
    "emit/test_headers_compile.py",
    "emit/test_headers_text.py",
    "emit/test_torch_glue.py",
    "header/test_breaking.py",
    "header/test_damaged_json.py",
    "optools/*",
    "output/test_apply.py",
    "output/test_cache.py",
    "output/test_faults.py",
    "scaffold/*",
    "spec/test_expression.py",
    "spec/test_schema_agreement.py",
    "test_render_properties.py",
    "vendor/test_coverage_report.py",
    "vendor/test_doctor.py",
    "vendor/test_elementwise.py",
    "vendor/test_sync.py",
)
"""Patterns of files that take tens of seconds of processor time: they generate everything several times, compile by
themselves, or draw hundreds of examples."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what follows from the file of a test: `build`, `torch`, `heavy`, and `programs` for users of `program` and
    of `browser`."""
    for item in items:
        folder, heavy = _position(item.path)
        if {"program", "browser"} & vars(getattr(item, "module", item)).keys():
            item.add_marker("programs")
        if heavy:
            item.add_marker("heavy")
        if folder == "pytorch":
            item.add_marker("torch")
        elif folder in BUILT or BUILT_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("build")


@functools.cache
def _position(path: Path) -> tuple[str, bool]:
    """The folder of tests/ that a file is in, and whether it is one of HEAVY. Once for a file: there are thousands of
    tests."""
    tests = ROOT / "tests"
    folder = path.relative_to(tests).parts[0] if path.is_relative_to(tests) else ""
    return folder, any(path.match(f"tests/{name}") for name in HEAVY)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says what a run with the usual choice of tests leaves out."""
    left_out = [name for name in ("slow", "sanitize") if f"not {name}" in str(config.option.markexpr)]
    if left_out:
        marks = " and ".join(left_out)
        terminalreporter.write_line(f"left out: tests marked {marks} (docs/building.md); `make nightly` runs all")


@pytest.fixture(scope="session", autouse=True)
def interface_read_once() -> Iterator[None]:
    """Commands that run in this process share the interface that the first of them read from the cache of the run."""
    load, folder = api.load, os.environ["DIOPIGEN_CACHE"]
    known: dict[tuple[str, str], Loaded] = {}

    def load_once(where: api.Workspace, sink: Sink, *, check: bool = True, **options: Any) -> Loaded:
        if check or os.environ.get("DIOPIGEN_CACHE") != folder:
            return load(where, sink, check=check, **options)
        key = (where.spec_name, cache.digest_of((where.spec,)))
        if key not in known:
            known[key] = load(where, sink, check=False, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "load", load_once)
        yield


@pytest.fixture(scope="session")
def workspace() -> api.Workspace:
    """The checkout's own spec and templates."""
    return api.Workspace(ROOT / "specs", ROOT / "templates", "specs")


@pytest.fixture(scope="session")
def interface(workspace: api.Workspace) -> Interface:
    """The whole interface, free of findings."""
    sink = Sink()
    loaded = api.load(workspace, sink)
    assert [str(d.span) + " " + d.message for d in sink.sorted()] == []
    return loaded.interface


@pytest.fixture(scope="session")
def derived(interface: Interface, workspace: api.Workspace) -> Callable[[Function], Sequence[Case]]:
    """The cases of a function; those of all functions are derived once in a run and cached."""
    return StoredCases(interface, cache.key_of((workspace.spec,), (workspace.spec_name,))).of


@pytest.fixture(scope="session")
def header_plan(interface: Interface, workspace: api.Workspace) -> Plan:
    """The six headers."""
    sink = Sink()
    plan = api.plan(interface, workspace, sink, ["headers"])
    assert len(sink) == 0
    return plan


@pytest.fixture(scope="session")
def header_folder(header_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `diopi/*.h`: what goes behind -I."""
    root = tmp_path_factory.mktemp("headers")
    for path, content in header_plan.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return root / "include"
