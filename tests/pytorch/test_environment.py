"""Switches of the environment: wrong values and names are told, and those of torch_dipu are known."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch_build

ROOT = Path(__file__).resolve().parents[2]
torch = pytest.importorskip("torch")
ADD = "x = torch.ones(2, device='droplet'); print('sum', (x + x).sum().item())"


@pytest.fixture(scope="module")
def table(torch_droplet: ModuleType) -> Any:
    return importlib.import_module("diopi_torch.environment")


@pytest.fixture(scope="module")
def switches(torch_droplet: ModuleType) -> Any:
    return importlib.import_module("diopi_torch.switches")


def run(backend: Any, program: str = ADD, **switches: str) -> subprocess.CompletedProcess[str]:
    """A program after `import torch_droplet`, with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DIOPI_", "DIPU_"))}
    paths = {"PYTHONPATH": torch_build.PYTHONPATH, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    env = {**kept, **backend.environment(), **paths, **switches}
    program = f"import torch, torch_droplet\n{program}"
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)


def read(table: Any, switches: Any) -> None:
    """Effects of the environment on the import."""
    table.prepare()
    switches.read()


@pytest.fixture
def environment(torch_droplet: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Variables that a test sets alone; in the end the switches are what they were."""
    switches = importlib.import_module("diopi_torch.switches")
    before = torch.ops.diopi.switches()
    for name in list(os.environ):
        if name.startswith(("DIOPI_", "DIPU_")):
            monkeypatch.delenv(name)
    yield monkeypatch
    torch.ops.diopi.set_switches(*before)
    switches._note()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DIOPI_DUMP_OP_ARGS", "9", "DIOPI_DUMP_OP_ARGS is '9': 0, 1, 2 or 3 is possible"),
        ("DIOPI_DUMP_OP_ARGS", "yes", "DIOPI_DUMP_OP_ARGS is 'yes': 0, 1, 2 or 3 is possible"),
        ("DIOPI_FORCE_FALLBACK_OPS", "add(", "DIOPI_FORCE_FALLBACK_OPS: 'add(' is no regular expression"),
        ("DIOPI_AUTOCOMPARE", "mul,*", "DIOPI_AUTOCOMPARE: '*' is no regular expression"),
        ("DIOPI_AS_CUDA", "yes", "DIOPI_AS_CUDA is 'yes': 0 or 1 is possible"),
        ("DIOPI_COMPILE_CACHE", "off", "DIOPI_COMPILE_CACHE is 'off': 0 or 1 is possible"),
        ("DIOPI_COMPILE_LOG", "plan,all", "DIOPI_COMPILE_LOG is 'plan,all': fusion, layout, pattern, plan or source"),
    ],
)
def test_a_wrong_value_raises(
    name: str, value: str, message: str, environment: pytest.MonkeyPatch, table: Any, switches: Any
) -> None:
    environment.setenv(name, value)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(table, switches)


def test_a_wrong_value_raises_at_the_import_and_ends_no_process(backend: Any) -> None:
    done = run(backend, DIOPI_DUMP_OP_ARGS="9")
    assert done.returncode == 1, done.stderr  # and not the signal of an abort
    assert "ValueError: DIOPI_DUMP_OP_ARGS is '9': 0, 1, 2 or 3 is possible" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DIOPI_FALLBACK", "maybe", "DIOPI_FALLBACK is 'maybe': off, warn or log is possible"),
        ("DIOPI_SIM_DEVICES", "0", "DIOPI_SIM_DEVICES is '0': a number from 1 to 16 is possible"),
        pytest.param("DIOPI_VALIDATE", "1", "DIOPI_VALIDATE is '1': off, log or refuse", marks=pytest.mark.slow),
        pytest.param("DIOPI_LOG", "(", "DIOPI_LOG is not a regular expression: '('", marks=pytest.mark.slow),
        pytest.param("DIOPI_SIM_MEMORY_CHECK", "on", "DIOPI_SIM_MEMORY_CHECK is 'on'", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_value_of_a_library_raises_when_it_is_first_used(
    name: str, value: str, message: str, backend: Any
) -> None:
    done = run(backend, **{name: value})
    assert done.returncode == 1, done.stderr
    assert "Error" in done.stderr and message in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "DIOPI_FORCE_FALBACK_OPS",
            "add.Tensor",
            "DIOPI_FORCE_FALBACK_OPS is no switch of diopi_torch; did you mean DIOPI_FORCE_FALLBACK_OPS?",
        ),
        ("DIOPI_ZZZ", "1", "DIOPI_ZZZ is no switch of diopi_torch"),
        (
            "DIOPI_FORCE_FALLBACK_OPS",
            "convolution_overridable",
            "DIOPI_FORCE_FALLBACK_OPS: no operator is named 'convolution_overridable'; "
            "did you mean convolution_overrideable?",
        ),
        ("DIOPI_AUTOCOMPARE", "nosuchthing.*", "DIOPI_AUTOCOMPARE: no operator is named 'nosuchthing.*'"),
        ("DIPU_MEM_CHECK", "1", "DIPU_MEM_CHECK does nothing here: torch.<device>.memory_allocated()"),
        ("DIPU_MEM_CHECK_ENABLE_BACKTRACE", "1", "DIPU_MEM_CHECK_ENABLE_BACKTRACE does nothing here"),
    ],
)
def test_an_unknown_name_is_a_warning_with_the_nearest_one(
    name: str, value: str, message: str, environment: pytest.MonkeyPatch, table: Any, switches: Any
) -> None:
    environment.setenv(name, value)
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}"):
        read(table, switches)


def test_names_that_are_right_are_no_warnings(environment: pytest.MonkeyPatch, table: Any, switches: Any) -> None:
    names = {
        "DIOPI_FORCE_FALLBACK_OPS": "conv2d, add.Tensor,.*_backward,nms",
        "DIOPI_SIM_DEVICES": "2",
        "DIPU_ROOT": "/",
    }
    for name, value in {**names, "DIOPI_AUTOCOMPARE": "mul.*", "DIOPI_COMPILE_LOG": "plan,source"}.items():
        environment.setenv(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(table, switches)


@pytest.mark.parametrize(
    ("theirs", "value", "expected"),
    [
        ("DIPU_FORCE_FALLBACK_OPS_LIST", "add.out, conv2d", ("add.out, conv2d", "", 0)),
        ("DIPU_AUTOCOMPARE_OPS_LIST", "add.*?", ("", "add.*?", 0)),
        *[("DIPU_DUMP_OP_ARGS", value, ("", "", level)) for value, level in {"-1": 0, "x": 0, "1": 1, "7": 3}.items()],
    ],
)
def test_aliases_set_our_switches(
    theirs: str, value: str, expected: Any, environment: pytest.MonkeyPatch, table: Any, switches: Any
) -> None:
    environment.setenv(theirs, value)
    own = table.aliases_of_names()[theirs]
    environment.setenv(own, "")  # to be restored
    environment.delenv(own)
    read(table, switches)
    forced, compared, _, level = torch.ops.diopi.switches()
    assert (forced, compared, level) == expected


def test_our_name_counts_where_an_alias_is_set_too(environment: pytest.MonkeyPatch, table: Any, switches: Any) -> None:
    environment.setenv("DIPU_FORCE_FALLBACK_OPS_LIST", "add.out")
    environment.setenv("DIOPI_FORCE_FALLBACK_OPS", "mul.out")
    read(table, switches)
    assert torch.ops.diopi.switches()[0] == "mul.out"


def test_aliases_count_from_the_import_on(backend: Any) -> None:
    program = f"{ADD}; print(torch.device('cuda').type)"
    done = run(
        backend, program, DIPU_FORCE_FALLBACK_OPS_LIST="add.Tensor", DIPU_DUMP_OP_ARGS="1", DIPU_MOCK_CUDA="True"
    )
    assert "diopi: add.Tensor -> the CPU: DIOPI_FORCE_FALLBACK_OPS names it" in done.stderr
    assert done.stdout.endswith("\ndroplet\n"), done.stdout


@pytest.mark.parametrize(("value", "expected"), [("True", "1"), ("1", "1"), ("False", "0"), ("false", "0")])
def test_cuda_is_mocked_by_the_name_of_torch_dipu(
    value: str, expected: str, environment: pytest.MonkeyPatch, table: Any
) -> None:
    environment.setenv("DIPU_MOCK_CUDA", value)
    environment.setenv("DIOPI_AS_CUDA", "")
    environment.delenv("DIOPI_AS_CUDA")
    table.prepare()
    assert os.environ["DIOPI_AS_CUDA"] == expected


def test_context_managers_raise_and_warn_as_the_environment_does(torch_droplet: ModuleType) -> None:
    with (
        pytest.raises(ValueError, match=r"DIOPI_FORCE_FALLBACK_OPS: '\[' is no regular"),
        torch_droplet.force_fallback("["),
    ):
        pass
    with pytest.raises(ValueError, match="DIOPI_DUMP_OP_ARGS is 4: 0, 1, 2 or 3"), torch_droplet.dump_arguments(4):
        pass
    near = pytest.warns(UserWarning, match=r"no operator is named 'softmx'; did you mean softmax\?")
    with near, torch_droplet.force_fallback("softmx"):
        pass
    assert not importlib.import_module("diopi_torch.switches").are_on()


@pytest.mark.parametrize("page", ["docs/pytorch.md", "docs/pytorch.zh-CN.md"])
def test_the_page_has_the_aliases(page: str, table: Any) -> None:
    text = (ROOT / page).read_text()
    aliases = table.aliases_of_names()
    assert len(aliases) == 5
    for name, own in aliases.items():
        if name.startswith("DIOPI_"):
            assert f"`{name}`" in text and f"`{own}`" in text
            continue
        assert re.search(rf"^\| `{name}` \| .*`{own}`", text, re.M), name
    assert all(f"`{name}`" in text for name in table.ELSEWHERE)
