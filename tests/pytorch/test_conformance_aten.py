"""`conformance aten` over torch's CPU and over droplet: a share of the cases, known faults, other ways to call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from sampling import first

from diopigen.conformance.aten.custom import with_composed
from diopigen.conformance.aten.known import Known, known, release_of, seen
from diopigen.ir.model import Interface

WORDS = [sys.executable, "-m", "diopigen", "conformance", "aten"]


def _run(tmp_path: Path, *words: str, **variables: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "results.json"
    command = [*WORDS, *words, "-j", "1", "--output", f"json={file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert file.exists(), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    return done.returncode, found


def _failures(results: dict[str, Any]) -> list[str]:
    return [one["id"] for one in results["cases"] if one["outcome"] in ("failed", "crashed", "hung")]


def test_the_cpu_passes_a_sample_of_all_functions(tmp_path: Path) -> None:
    code, results = _run(tmp_path, "--only", "sample=1")
    assert _failures(results) == []
    assert code == 0
    assert results["counts"]["passed"] > 250
    assert len(results["overloads"]["kernel"]) > 200


@pytest.mark.slow
def test_composed_operators_are_called(interface: Interface, tmp_path: Path) -> None:
    plain = {function.name: {one.name for one in function.aten} for function in interface.functions}
    composed = {
        (function.name, one.name)
        for function in with_composed(interface).functions
        for one in function.aten
        if one.name not in plain[function.name]
    }
    words = [word for name, _ in sorted(composed) for word in ("--ops", name)]
    code, results = _run(tmp_path, *words)
    assert (code, _failures(results)) == (0, [])
    assert composed <= {(one["function"], one["overload"]) for one in results["cases"] if one["outcome"] == "passed"}


@pytest.mark.slow
def test_known_faults_count_where_they_are_asked_for(tmp_path: Path) -> None:
    words = ["--ops", "diopiSoftmax", "--known-faults"]
    code, results = _run(tmp_path, *words)
    assert code == 1
    assert "diopiSoftmax/float32/strided@_softmax.out" in _failures(results)
    code, results = _run(tmp_path, *words[:2])
    assert (code, _failures(results)) == (0, [])


OPERATORS = """
import torch
library = torch.library.Library("sample_operators", "DEF")
library.define("rms_norm(Tensor x, Tensor? weight, float eps, int version) -> Tensor")
library.define("rotary(Tensor x, Tensor cos, Tensor sin, bool conj, bool interleaved) -> Tensor")
def rms_norm(x, weight, eps, version):
    assert version == 2
    wide = x.double()
    y = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * FACTOR
    return (y if weight is None else y * weight.double()).to(x.dtype)
def rotary(x, cos, sin, conj, interleaved):
    wide, cos, sin = x.double(), cos.double(), sin.double() * (-1 if conj else FACTOR)
    first, second = (wide[..., ::2], wide[..., 1::2]) if interleaved else wide.chunk(2, -1)
    rotated = first * cos - second * sin, first * sin + second * cos
    return (torch.stack(rotated, -1).flatten(-2) if interleaved else torch.cat(rotated, -1)).to(x.dtype)
library.impl("rms_norm", rms_norm, "CPU")
library.impl("rms_norm", lambda x, weight, eps, version: torch.empty_like(x), "Meta")
library.impl("rotary", rotary, "CPU")
library.impl("rotary", lambda x, *rest: torch.empty_like(x), "Meta")
"""
NAMES = """
operators:
  diopiRMSNorm:
    - overload: 'sample_operators::rms_norm'
      names: {input: x}
      arguments: {version: 2}
      without: [inv_rms, normalized_shape, bias]
  diopiRotaryEmbedding: ['sample_operators::rotary']
"""


@pytest.mark.parametrize(("factor", "code"), [("1.0", 0), ("1.01", 1)])
@pytest.mark.parametrize("function", [pytest.param("diopiRMSNorm", marks=pytest.mark.slow), "diopiRotaryEmbedding"])
def test_operators_of_another_library_are_tested(tmp_path: Path, function: str, factor: str, code: int) -> None:
    (tmp_path / "sample_operators.py").write_text(OPERATORS.replace("FACTOR", factor))
    file = tmp_path / "operators.yaml"
    file.write_text(NAMES)
    words = ["--register", "sample_operators", "--operators", str(file), "--ops", function]
    words += ["--only", "dtype=float32", "--only", "axis=recipe"]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    _, results = _run(tmp_path, *words, PYTHONPATH=path)
    # The case over two dimensions is no rms_norm of this form.
    failed = [name for name in _failures(results) if "diopiRMSNorm/float32/recipe-4" not in name]
    assert results["counts"]["passed"] > 0 or code
    assert bool(failed) == bool(code)


VISION = os.environ.get("DIOPIGEN_VISION_PYTHON", "")


@pytest.mark.slow
@pytest.mark.skipif(not VISION, reason="DIOPIGEN_VISION_PYTHON names no Python with torchvision")
def test_torchvision(tmp_path: Path) -> None:
    """With the torchvision of PyPI, which needs the torch of PyPI, some 5 GB."""
    operators = Path(__file__).resolve().parents[2] / "templates/pages/torchvision-operators.yml"
    words = ["--python", VISION, "--register", "torchvision", "--operators", str(operators)]
    _, results = _run(tmp_path, *words)
    assert results["counts"]["passed"] > 150
    assert {one["function"] for one in results["cases"] if one["outcome"] == "passed"} == {
        "diopiNms", "diopiRoiAlign", "diopiRoiAlignBackward", "diopiModulatedDeformConvMmcv",
    }  # fmt: skip
    # torchvision 0.29.1: a region of an empty map is read (SIGSEGV), a stride of 0 divides (SIGFPE).
    assert {name.partition("@")[0] for name in _failures(results)} == {
        "diopiRoiAlign/C3/error",
        "diopiModulatedDeformConvMmcv/range-below-stride_h/error",
        "diopiModulatedDeformConvMmcv/range-below-stride_w/error",
    }


@pytest.mark.parametrize("backend", first(["aot_eager", "eager"]))
def test_compiled_functions_are_tested(tmp_path: Path, backend: str) -> None:
    code, results = _run(tmp_path, "--compile", backend, "--ops", "diopiRelu", "--only", "sample=4")
    assert (code, _failures(results)) == (0, [])
    assert results["counts"]["passed"] > 0


BACKEND = """
import torch
from torch._dynamo import register_backend
@register_backend
def spoiled(graph, examples):
    return lambda *arguments: tuple(one + 1 for one in graph.forward(*arguments))
"""


def test_every_call_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "spoiled_backend.py").write_text(BACKEND)
    words = ["--register", "spoiled_backend", "--compile", "spoiled", "--ops", "diopiNeg", "--only", "sample=20"]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    _, results = _run(tmp_path, *words, "-j", "1", PYTHONPATH=path)
    # torch.compile alone calls a function as it is once it has compiled it 8 times.
    assert len(_failures(results)) > 8


@pytest.mark.slow
def test_the_plugin_names_what_cannot_be_used(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "--diopi-device=npu",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "device 'npu'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_plugin_skips_known_failures(tmp_path: Path) -> None:
    words = ["--diopi-device", "cpu", "--diopi-ops", "diopiSoftmax", "--diopi-dtype", "float32", "-rs"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "fault of PyTorch: Outputs with strides" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "nothing"], "device 'nothing': RuntimeError"),
        pytest.param(["--device", "meta"], "device 'meta': ValueError", marks=pytest.mark.slow),
        (["--register", "raising"], "module 'raising' of --register: ValueError: no driver"),
        pytest.param(
            ["--compile", "nothing"], "backend 'nothing' of torch.compile: InvalidBackend", marks=pytest.mark.slow
        ),
    ],
)
def test_what_cannot_be_used_is_an_error(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "raising.py").write_text("raise ValueError('no driver')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([*WORDS, *words], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert said in done.stderr + done.stdout
    assert "torch-missing" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def _ends(entry: Known) -> int:
    program = "import warnings\nwarnings.simplefilter('ignore')\nimport torch\n" + textwrap.dedent(entry.script)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode


@pytest.mark.parametrize("entry", [one for one in known() if one.is_fault], ids=lambda one: one.id)
@pytest.mark.slow
def test_the_program_of_a_known_fault_fails_where_the_fault_is(entry: Known) -> None:
    release = torch.__version__.partition("+")[0]
    if release not in seen()["releases"]:
        pytest.skip(f"the faults of torch {release} are not recorded")
    assert bool(_ends(entry)) == entry.is_in(release_of(release))


def test_droplet_passes_a_sample(torch_droplet: ModuleType, tmp_path: Path) -> None:
    words = ["--device", "droplet", "--register", torch_droplet.__name__, "--only", "sample=1", "--ops", "diopi[A-C]*"]
    code, results = _run(tmp_path, *words, PYTHONPATH=os.pathsep.join(sys.path))
    assert (code, _failures(results)) == (0, [])
    assert results["counts"]["passed"] > 40


def test_droplet_passes_all_cases_of_functions(torch_droplet: ModuleType, tmp_path: Path) -> None:
    functions = [f"diopi{name}" for name in ("BatchNormBackward", "GroupNormBackward", "NormalInp", "RandomInp", "Sgd")]
    words = ["--device", "droplet", "--register", torch_droplet.__name__]
    words += [word for function in functions for word in ("--ops", function)]
    code, results = _run(tmp_path, *words, PYTHONPATH=os.pathsep.join(sys.path))
    assert (code, _failures(results)) == (0, [])
    passed = [one["function"] for one in results["cases"] if one["outcome"] == "passed"]
    assert min(passed.count(function) for function in functions) > 10


@pytest.mark.slow
def test_droplet_passes(torch_droplet: ModuleType, tmp_path: Path) -> None:
    code, results = _run(
        tmp_path, "--device", "droplet", "--register", torch_droplet.__name__, PYTHONPATH=os.pathsep.join(sys.path)
    )
    assert (code, _failures(results)) == (0, [])
    assert results["counts"]["passed"] > 50_000
