"""The conformance suite over the emulated CUDA library: its kernels, run on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cpu_build import ROOT
from cuda_build import exported
from programs import HOUR
from sampling import sampled

from diopigen import api
from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import Results
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Failure, Sink
from diopigen.emit.operands import is_operator
from diopigen.ir.model import Interface

RACES = [
    "attention",
    "serving",
    "sorting",
    "indexing",
    "reduction",
    "norm",
    "activation",
    "loss",
    "linalg_matmul",
    "convolution",
    "pooling",
    "resample",
]
"""Families with kernels whose threads share memory, or that add up what several threads might."""


FRACTION = 80
"""A change runs one case in so many, and one of each function; the others take as long as the whole CPU library."""
PARTS = [pytest.param(FRACTION, id="sample"), pytest.param(1, id="whole", marks=pytest.mark.slow)]
AGAIN = [pytest.param(160, id="sample"), *PARTS[1:]]
"""The same cases under another setting: fewer of them."""
CONVOLUTIONS = ("Convolution*", "ConvTranspose*")
pytestmark = pytest.mark.suite


@pytest.fixture(scope="module", params=PARTS)
def results(request: pytest.FixtureRequest, emulated: tuple[Path, Path], interface: Interface) -> Results:
    """Results of the cases, except for the large ones of models."""
    tables = api.models(api.workspace(str(ROOT / "specs")), Sink())
    cases = sampled(select(interface, tables=tuple(tables.values())), request.param)
    return run(cases, interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)


def test_every_case_passes_that_the_library_covers(results: Results) -> None:
    """No case fails, and no function is without a kernel."""
    assert [f"{result.case.id}: {result.faults}" for result in results.failures] == []
    assert {result.outcome for result in results.results} == {"passed"}


@pytest.mark.parametrize("share", AGAIN)
def test_no_result_depends_on_the_order_of_threads(
    emulated: tuple[Path, Path], interface: Interface, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """The last thread and the last group first: the same cases pass."""
    monkeypatch.setenv("DIOPI_CUDA_EMULATION_ORDER", "reversed")
    cases = select(interface, families=RACES)
    assert len(cases) > 5_000
    found = run(sampled(cases, share), interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    assert {result.outcome for result in found.results} == {"passed"}


@pytest.mark.slow
@pytest.mark.parametrize("share", AGAIN)
def test_no_result_depends_on_work_being_done_at_once(
    emulated: tuple[Path, Path], interface: Interface, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """Streams that do nothing before a synchronisation: all work of a call is on the stream of its context."""
    monkeypatch.setenv("DIOPI_CUDA_EMULATION_STREAMS", "lazy")
    found = run(sampled(select(interface), share), interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    assert {result.outcome for result in found.results} == {"passed"}


@pytest.mark.parametrize("share", PARTS)
@pytest.mark.parametrize(
    ("library", "operators"), [("BLAS", []), ("DNN", ["Convolution*", "ConvTranspose*", "*AvgPool*", "Pool*"])]
)
def test_calls_of_libraries_mean_what_is_asked_for(
    emulated: tuple[Path, Path],
    interface: Interface,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    operators: list[str],
    share: int,
) -> None:
    """Stand-ins do the work, by what cuBLASLt and cuDNN document of their descriptions: the same cases pass."""
    monkeypatch.setenv(f"DIOPI_CUDA_EMULATION_{library}", "1")
    families = ["linalg_matmul"] if library == "BLAS" else ["convolution", "pooling"]
    cases = select(interface, ops=operators, families=families)
    assert len(cases) > 500
    found = run(sampled(cases, share), interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    assert {result.outcome for result in found.results} == {"passed"}


@pytest.mark.parametrize(("axis", "layout"), [("recipe", "first"), ("strided", "last")])
def test_a_convolution_asks_once_for_an_algorithm_and_keeps_its_layout(
    emulated: tuple[Path, Path],
    interface: Interface,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    axis: str,
    layout: str,
) -> None:
    """Images with the channels last are not copied; what was chosen for a convolution is kept."""
    notes = tmp_path / "notes.txt"
    monkeypatch.setenv("DIOPI_CUDA_EMULATION_DNN", "1")
    monkeypatch.setenv("DIOPI_CUDA_EMULATION_NOTES", str(notes))
    name = "channels-last" if layout == "last" else "recipe-1"
    (case,) = [
        case
        for case in select(interface, ops=["Convolution2d"], dtypes=["float32"], axes=[axis])
        if case.id.endswith(f"/{name}")
    ]
    cases = [replace(case, id=f"{case.id}-{number}") for number in range(3)]
    found = run(cases, interface, emulated[1], emulated[0])
    assert [result.outcome for result in found.results] == ["passed"] * 3
    assert notes.read_text() == f"convolution, channels {layout}\n"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("library", "operator", "text"),
    [
        ("BLAS", "Mm", "multiply: invalid value"),
        ("DNN", "Convolution2d", "convolve: bad parameter"),
        ("DNN", "ConvTranspose3d", "convolve: bad parameter"),
        ("DNN", "Convolution3dBackward", "convolve: bad parameter"),
        ("DNN", "AvgPool2d", "pool: bad parameter"),
    ],
)
def test_an_error_of_a_library_is_a_status_with_its_text(
    emulated: tuple[Path, Path],
    interface: Interface,
    monkeypatch: pytest.MonkeyPatch,
    library: str,
    operator: str,
    text: str,
    dtype: str,
) -> None:
    """The recorded calls show that the calls above reached the replacements."""
    monkeypatch.setenv(f"DIOPI_CUDA_EMULATION_{library}", "refuse")
    cases = select(interface, ops=[operator], dtypes=[dtype], axes=["recipe"])
    found = run(cases, interface, emulated[1], emulated[0])
    assert found.failures
    assert all(text in str(result.faults) for result in found.failures)


def test_library_shows_declared_functions_and_nothing_else(emulated: tuple[Path, Path], interface: Interface) -> None:
    runtime = {
        function.name for header in interface.headers if header.file == "diopirt.h" for function in header.functions
    }
    declared = {function.name for function in interface.functions if not function.is_collective} - runtime
    assert exported(emulated[1]) == declared | {"initLibrary", "finalizeLibrary"}


def test_the_page_says_what_is_there(interface: Interface) -> None:
    """The figures in docs/cuda.md: functions with a kernel in the spec, and by hand."""
    page = " ".join((ROOT / "docs/cuda.md").read_text().split())
    covered = [f for f in interface.functions if is_operator(f)]
    generated = sum(function.kernel is not None and not function.by_hand for function in covered)
    assert (
        f"All {len(covered)} operators of the CPU library are implemented: {generated} from the kernels of the spec"
        in page
    )
    assert f"{len(covered) - generated} by hand" in page


def test_a_run_for_a_device_refuses_a_library_of_another_vendor(
    emulated: tuple[Path, Path], interface: Interface
) -> None:
    """With `device` a run on the host does not count as one on a device."""
    cases = select(interface, ops=["Neg"])
    assert {result.outcome for result in run(cases, interface, emulated[1], emulated[0], device="cuda").results} == {
        "passed"
    }
    with pytest.raises(Failure, match="the library is of 'cuda' and has device memory, but the run is for 'camb'"):
        run(cases, interface, emulated[1], emulated[0], device="camb")
