"""Attention at sizes of several blocks of scores, against float64; and products that cuBLASLt knows already."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attention_program import CASES, DROPPED, FUSED, Case
from cpu_build import run_checked
from cpu_library import BFLOAT16
from programs import HOUR
from sampling import first, sampled

from diopigen.conformance.cases.suite import select
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface

PROGRAM = Path(__file__).with_name("attention_program.py")
Array = np.ndarray[Any, Any]


def attended(
    libraries: tuple[Path, Path], file: Path, settings: Mapping[str, str], runs: int | str = 1
) -> dict[str, Array]:
    """Results of a library for all cases under its own settings."""
    run_checked([sys.executable, PROGRAM, *libraries, file, str(runs)], {**os.environ, **settings})
    with np.load(file) as results:
        return dict(results)


@pytest.fixture(scope="module")
def by_tiles(emulated: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    """Results of the library with default settings."""
    return attended(emulated, tmp_path_factory.mktemp("attention") / "found.npz", {})


@dataclass(frozen=True)
class Expected:
    """Results by the definition, and the sums of the magnitudes of what each is a sum of."""

    results: dict[str, Array]
    terms: dict[str, Array]


def expected(case: Case) -> Expected:
    """The definition in float64, from operands as they are stored."""
    q, k, v, grad = (case.operands()[name].astype(np.float64).swapaxes(1, 2) for name in ("q", "k", "v", "grad"))
    shared = case.heads // case.kv_heads
    k, v = (np.repeat(array, shared, axis=1) for array in (k, v))
    diagonal = np.arange(case.queries)[:, None] + case.keys - case.queries
    key = np.arange(case.keys)
    right = 0 if case.is_causal else case.right
    sees = np.ones((case.queries, case.keys), bool)
    sees &= (key <= diagonal + right) | (right < 0)
    sees &= (key >= diagonal - case.left) | (case.left < 0)
    scores = case.scale * q @ k.swapaxes(-1, -2)
    if case.has_slopes:
        scores -= case.operands()["slopes"].astype(np.float64)[:, None, None] * np.abs(diagonal - key)
    scores = np.where(sees, scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True)
    fractions = np.where(sees, np.exp(scores - np.where(np.isinf(top), 0, top)), 0)
    total = fractions.sum(axis=-1, keepdims=True)
    fractions /= np.where(total == 0, 1, total)
    # What is hidden does not count, whatever it is.
    out = np.einsum("bhqk,bhqkd->bhqd", fractions, np.where(sees[..., None], v[..., None, :, :], 0))
    to_share = np.where(sees, grad @ v.swapaxes(-1, -2), 0)
    centred = to_share - np.sum(grad * out, axis=-1, keepdims=True)
    to_score = np.where(sees, case.scale * fractions * centred, 0)

    def joined(array: Array) -> Array:
        batch, _, keys, size = array.shape
        return np.asarray(array.reshape(batch, case.kv_heads, shared, keys, size).sum(axis=2))

    def gradients(fractions: Array, to_score: Array, q: Array, k: Array, grad: Array) -> dict[str, Array]:
        return {
            "grad_q": np.einsum("bhqk,bhqkd->bhqd", to_score, np.where(sees[..., None], k[..., None, :, :], 0)),
            "grad_k": joined(to_score.swapaxes(-1, -2) @ q),
            "grad_v": joined(
                np.einsum("bhqk,bhqkd->bhkd", fractions, np.where(sees[..., None], grad[..., :, None, :], 0))
            ),
        }

    results = {"out": out, **gradients(fractions, to_score, q, k, grad)}
    magnitudes = gradients(fractions, np.abs(to_score) + np.finfo(np.float16).tiny, *map(np.abs, (q, k, grad)))
    seen_values = np.where(sees[..., None], np.abs(v[..., None, :, :]), 0)
    magnitudes["out"] = np.einsum("bhqk,bhqkd->bhqd", fractions, seen_values)
    with np.errstate(divide="ignore"):
        lse = np.where(total == 0, np.inf, np.log(total) + top)[..., 0]
    swapped = {name: array.swapaxes(1, 2) for name, array in results.items()}
    terms = {name: array.swapaxes(1, 2) for name, array in magnitudes.items()}
    return Expected({"lse": lse, **swapped}, {"lse": np.zeros_like(lse), **terms})


def faults(case: Case, found: Mapping[str, Array], *, is_fused: bool = False) -> list[str]:
    """Results that are farther off than the rounding of outputs tells, from which gradients come as well.

    Fused kernels round probabilities and gradients of scores to the dtype, too.
    """
    rounding = {np.dtype("float16"): 2.0**-11, BFLOAT16: 2.0**-8, np.dtype("float32"): 2e-6}[case.dtype]
    texts = []
    provided = expected(case)
    for name, right in provided.results.items():
        result = found[f"{case.name}/{name}"].astype(np.float64)
        scale = np.max(np.abs(right), where=np.isfinite(right), initial=0)
        allowed = 1e-5 * scale + (0 if name == "lse" else rounding * np.abs(right))
        if case.dtype == np.dtype("float16"):
            allowed = allowed + 2.0**-25  # half the distance of subnormal numbers
        if name in ("grad_q", "grad_k"):
            allowed = allowed + 2 * rounding * scale  # `out` is rounded before its product with the gradient
        if is_fused:
            allowed = allowed + rounding * provided.terms[name]
        with np.errstate(invalid="ignore"):
            good = (result == right) | (np.abs(result - right) <= allowed) | (np.isnan(result) & np.isnan(right))
        if not good.all():
            distance = np.max(np.abs(result - right)[~good])
            texts.append(f"{case.name}: {name}, {(~good).sum()} of {good.size}, by {distance:.3g} of {scale:.3g}")
    return texts


@pytest.mark.parametrize(
    "settings",
    first(
        [
            {},
            {"DIOPI_CUDA_ATTENTION_BYTES": "60000"},
            {"DIOPI_CUDA_ATTENTION_BYTES": "60000", "DIOPI_CUDA_EMULATION_ORDER": "reversed"},
            {"DIOPI_CUDA_ATTENTION_BYTES": "500000", "DIOPI_CUDA_EMULATION_BLAS": "1"},
            {"DIOPI_CUDA_EMULATION_BLAS": "1", "DIOPI_CUDA_EMULATION_STREAMS": "lazy"},
        ]
    ),
    ids=["tiles", "small blocks", "small blocks reversed", "products of cuBLASLt", "late"],
)
def test_attention_is_what_its_definition_gives(
    emulated: tuple[Path, Path], by_tiles: dict[str, Array], tmp_path: Path, settings: dict[str, str]
) -> None:
    """Blocks of few queries and of many, over own products and over those of the stand-in."""
    found = attended(emulated, tmp_path / "found.npz", settings) if settings else by_tiles
    assert [text for case in CASES for text in faults(case, found)] == []


@pytest.mark.parametrize(
    ("mode", "plans"), first([("1", 6), ("refuse", 0)]), ids=["plans of cuDNN", "plans that do not run"]
)
def test_fused_attention_is_what_its_definition_gives(
    emulated: tuple[Path, Path], tmp_path: Path, mode: str, plans: int
) -> None:
    """cuDNN takes what it serves; where its plan does not run, own kernels give what they give without it."""
    notes = tmp_path / "notes.txt"
    notes.touch()
    settings = {"DIOPI_CUDA_EMULATION_DNN": mode, "DIOPI_CUDA_EMULATION_NOTES": str(notes)}
    found = attended(emulated, tmp_path / "found.npz", settings, "fused")
    counts = Counter(notes.read_text().splitlines())
    assert counts["attention"] == counts["attention, gradient"] == plans
    assert [text for case in FUSED for text in faults(case, found, is_fused=plans > 0)] == []
    if plans > 0:
        assert all(faults(case, found) for case in FUSED), "probabilities of halves show"


def test_the_other_operators_of_attention(by_tiles: dict[str, Array]) -> None:
    """ScaledMaskedSoftmax, RotaryEmbedding and own products, against what is exact or nearly so."""
    found = by_tiles
    for dtype, rounding in (("float16", 2**-11), ("float64", 1e-12), ("complex64", 1e-7), ("int64", 0)):
        a, b, out = (found[f"product-{dtype}/{name}"] for name in ("a", "b", "out"))
        accumulate_dtype = np.int64 if dtype == "int64" else np.complex128
        product = a.astype(accumulate_dtype) @ b.astype(accumulate_dtype)
        np.testing.assert_allclose(out.astype(accumulate_dtype), product, rtol=rounding, atol=rounding)
    found = {name: array.astype(np.float64) for name, array in found.items() if not name.startswith("product")}
    for keys, triangle in ((48, 0), (48, 1), (1500, 0), (1500, 1)):
        scores, grad, mask, out, grad_in = (
            found[f"softmax-{keys}-{triangle}/{name}"] for name in ("scores", "grad", "mask", "out", "grad_in")
        )
        hidden = np.arange(keys) > np.arange(3)[:, None] if triangle else np.broadcast_to(mask != 0, scores.shape)
        fractions = np.exp(np.where(hidden, -10000, 1.5 * scores))
        fractions /= fractions.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(out, fractions, rtol=2**-10, atol=2**-25)
        slopes = 1.5 * out * (grad - np.sum(grad * out, axis=-1, keepdims=True))
        np.testing.assert_allclose(grad_in, np.where(hidden, 0, slopes), rtol=2**-10, atol=1e-6)
    for dtype, rounding in (("float16", 2**-10), ("float32", 1e-6)):
        for interleaved in (0, 1):
            x, cos, sin, out = (found[f"rotary-{dtype}-{interleaved}/{name}"] for name in ("x", "cos", "sin", "out"))
            pairs = x.reshape(2, 5, 3, 32, 2) if interleaved else x.reshape(2, 5, 3, 2, 32).swapaxes(-1, -2)
            transposed = np.stack(
                (pairs[..., 0] * cos + pairs[..., 1] * sin, pairs[..., 1] * cos - pairs[..., 0] * sin), axis=-1
            )
            right = transposed if interleaved else transposed.swapaxes(-1, -2)
            np.testing.assert_allclose(out, right.reshape(out.shape), rtol=rounding, atol=rounding)


@pytest.mark.slow
def test_blocks_of_all_sizes_drop_the_same(emulated: tuple[Path, Path], tmp_path: Path) -> None:
    """One block from the first key on, and many that begin behind it, at places that no vector begins at."""
    one = attended(emulated, tmp_path / "one.npz", {})
    many = attended(emulated, tmp_path / "many.npz", {"DIOPI_CUDA_ATTENTION_BYTES": "60000"})
    for name in ("out", "lse", "grad_q", "grad_k", "grad_v"):
        full, cut = one[f"{DROPPED.name}/{name}"], many[f"{DROPPED.name}/{name}"]
        assert np.abs(full).max() > 0.1
        np.testing.assert_allclose(cut, full, rtol=2**-10, atol=1e-4 * np.abs(full).max())


@pytest.mark.parametrize(
    ("library", "share"),
    first([(None, 10), (None, 1), ("1", 1)]),
    ids=["sample", "tiles", "products of cuBLASLt"],
)
def test_the_suite_passes_by_blocks(
    emulated: tuple[Path, Path], interface: Interface, monkeypatch: pytest.MonkeyPatch, library: str | None, share: int
) -> None:
    """Its problems are small, and would go query by query: here they are cut to blocks, with masks and dropout."""
    monkeypatch.setenv("DIOPI_CUDA_ATTENTION_BYTES", "4096")
    if library is not None:
        monkeypatch.setenv("DIOPI_CUDA_EMULATION_BLAS", library)
    cases = select(interface, families=["attention", "serving"])
    assert len(cases) > 1_500
    found = run(sampled(cases, share), interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    assert {result.outcome for result in found.results} == {"passed"}


def test_the_suite_passes_by_plans(
    emulated: tuple[Path, Path], interface: Interface, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Joined sequences, dropout and gradients through cuDNN's stand-in, which validates what it is asked for."""
    notes = tmp_path / "notes.txt"
    for name, value in (("ATTENTION_BYTES", "4096"), ("EMULATION_DNN", "1"), ("EMULATION_NOTES", str(notes))):
        monkeypatch.setenv(f"DIOPI_CUDA_{name}", value)
    cases = [
        case
        for case in select(interface, families=["attention", "serving"])
        if case.function.startswith(("diopiFlashAttention", "diopiMultiHeadAttention"))
    ]
    assert len(cases) > 900
    found = run(sampled(cases, 6), interface, emulated[1], emulated[0], jobs=2, time_limit=HOUR)
    assert [f"{result.case.id}: {result.faults}" for result in found.failures] == []
    served = set(notes.read_text().splitlines())
    assert served >= {"attention", "attention, joined", "attention, gradient", "attention, gradient, joined"}


@pytest.mark.slow
def test_a_product_that_was_created_before_needs_no_choice(emulated: tuple[Path, Path], tmp_path: Path) -> None:
    """The second time that all cases are run, cuBLASLt chooses nothing."""
    counts = []
    for times in (1, 2):
        log = tmp_path / f"blas-{times}.txt"
        settings = {
            "DIOPI_CUDA_ATTENTION_BYTES": "60000",
            "DIOPI_CUDA_EMULATION_BLAS": "1",
            "DIOPI_CUDA_EMULATION_BLAS_LOG": str(log),
        }
        attended(emulated, tmp_path / "found.npz", settings, times)
        calls = [line.split() for line in log.read_text().splitlines()]
        assert {(call[1], call[2]) for call in calls} >= {("2", "4"), ("4", "4")}, "halves give floats"
        counts.append(Counter(call[0] for call in calls))
    assert counts[1]["choose"] == counts[0]["choose"] > 0
    assert counts[1]["multiply"] == 2 * counts[0]["multiply"]


def test_plans_of_products_are_bounded(emulated: tuple[Path, Path], tmp_path: Path) -> None:
    """Of more forms than are kept, the one that was not used for the longest time is chosen for again."""
    log = tmp_path / "blas.txt"
    settings = {"DIOPI_CUDA_EMULATION_BLAS": "1", "DIOPI_CUDA_EMULATION_BLAS_LOG": str(log)}
    run_checked([sys.executable, PROGRAM, *emulated, tmp_path / "none", "forms"], {**os.environ, **settings})
    counts = Counter(line.split()[0] for line in log.read_text().splitlines())
    assert counts == {"multiply": 1032, "choose": 1031}
