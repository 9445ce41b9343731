"""diopi_ffi: operators called with arrays of NumPy, over the CPU library. Needs apache-tvm-ffi."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from artefacts import artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")

import diopi_ffi

pytestmark = pytest.mark.build


@pytest.fixture(scope="module")
def library() -> diopi_ffi.Library:
    artefact("libdiopi_tvm_ffi.so")  # else it would be compiled here
    return diopi_ffi.load(artefact("libdiopi_impl.so"), runtime=str(artefact("libdiopirt.so")))


X = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 0.0]], dtype=np.float32)


def test_one_line(library: diopi_ffi.Library) -> None:
    result = library.softmax(X, dim=-1)
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    exact = np.exp(X.astype(np.float64))
    np.testing.assert_allclose(result, exact / exact.sum(-1, keepdims=True), rtol=1e-6)


def test_outputs_that_are_passed_are_written_and_returned(library: diopi_ffi.Library) -> None:
    out = np.full_like(X, 7)
    assert library.add(X, X, out=out) is out
    np.testing.assert_array_equal(out, 2 * X)


def test_no_copy_of_strided_arrays(library: diopi_ffi.Library) -> None:
    wide = np.zeros((3, 4), dtype=np.float32)
    library.relu(X.T, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], np.maximum(X.T, 0))
    np.testing.assert_array_equal(wide[:, 1::2], 0)


def test_changes_in_place(library: diopi_ffi.Library) -> None:
    values = X.copy()
    library.relu_inp(values)
    np.testing.assert_array_equal(values, np.maximum(X, 0))


def test_several_results_are_a_tuple(library: diopi_ffi.Library) -> None:
    values, indices = library.sort(X, dim=-1, descending=True)
    np.testing.assert_array_equal(values, -np.sort(-X, axis=-1))
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, np.argsort(-X, axis=-1, kind="stable"))


def test_results_that_the_operator_allocates(library: diopi_ffi.Library) -> None:
    np.testing.assert_array_equal(library.nonzero(X), np.argwhere(X))
    values, inverse, counts = library.unique(np.array([3, 1, 3]), sorted=True, return_counts=True)
    np.testing.assert_array_equal(values, [1, 3])
    np.testing.assert_array_equal(inverse, [1, 0, 1])
    np.testing.assert_array_equal(counts, [1, 2])
    del library, values  # results live on without what they came from
    np.testing.assert_array_equal(counts, [1, 2])


def test_lists_of_tensors(library: diopi_ffi.Library) -> None:
    np.testing.assert_array_equal(library.cat([X, X], dim=0), np.concatenate([X, X]))
    parts = library.split_with_sizes(X, [1, 2], dim=1, num_outs=2)
    np.testing.assert_array_equal(parts[1], X[:, 1:])


def test_numbers_keep_their_dtype(library: diopi_ffi.Library) -> None:
    counts = np.arange(4)
    assert library.add_scalar(counts, 2).dtype == np.int64
    for number in (np.float32(0.5), np.float32(0.25)):  # what is cached for one number does not serve another
        np.testing.assert_array_equal(library.add_scalar(X, number), X + number)
    zeros = [library.mul_scalar(np.ones(1, np.float32), zero)[0] for zero in (0.0, -0.0)]
    assert [bool(np.signbit(zero)) for zero in zeros] == [False, True]


def test_empty_and_zero_dimensional(library: diopi_ffi.Library) -> None:
    assert library.relu(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert library.neg(np.array(2.0)) == -2.0


def test_more_arrays_than_handles_are_cached_for(library: diopi_ffi.Library) -> None:
    arrays = [np.full((2, 3), k, np.float32) for k in range(40)]
    for _ in range(2):
        for array in arrays:  # handles of this shape are put over the memory of others
            assert library.add(array, arrays[0])[1, 2] == array[0, 0]
    np.testing.assert_array_equal(library.cat(arrays, dim=0)[::2, 0], range(40))  # all in use by one call
    for rows in range(1, 700):  # more shapes than handles are cached for
        assert library.relu(np.ones((rows, 2), np.float32)).shape == (rows, 2)


def test_generators(library: diopi_ffi.Library) -> None:
    def drawn(generator: diopi_ffi.Generator | None = None) -> Any:
        mask = np.empty((64,), np.uint8)
        library.dropout(np.ones(64, np.float32), p=0.5, train=True, mask=mask, generator=generator)
        return mask

    first = library.generator(3)
    one, two = drawn(first), drawn(first)
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(one, drawn(library.generator(3)))
    library.manual_seed(5)
    again = drawn()
    library.manual_seed(5)
    np.testing.assert_array_equal(again, drawn())


ERRORS = [
    (lambda lib: lib.softmax(X, dim=7), RuntimeError, "diopiSoftmax: diopiErrorOccurred: diopiSoftmax: dim.dim_of: "),
    (lambda lib: lib.softmax(X), ValueError, "diopiSoftmax: no value for 'dim'"),
    (lambda lib: lib.softmax(dim=1), TypeError, "diopiSoftmax: the tensor 'input' is missing"),
    (lambda lib: lib.softmax(X, diim=1), TypeError, "diopiSoftmax has no parameter 'diim'; did you mean 'dim'?"),
    (lambda lib: lib.softmx(X), AttributeError, "there is no operator 'softmx'; did you mean 'softmax'?"),
    (lambda lib: lib.softmax(X, 1, 2), TypeError, "diopiSoftmax takes 2 positional arguments, not 3"),
    (lambda lib: lib.softmax(object(), dim=1), TypeError, "diopiSoftmax: 'input' is a object: pass a tensor"),
    (lambda lib: lib.softmax([1.0, 2.0], dim=0), TypeError, "diopiSoftmax: 'input' is a list: pass a tensor"),
    (lambda lib: lib.softmax(2.0, dim=0), TypeError, "diopiSoftmax: 'input' is a float: pass a tensor"),
    (lambda lib: lib.cat(X, dim=0), TypeError, "diopiCat: 'tensors' is a ndarray: pass a list of tensors"),
    (lambda lib: lib.cat([X, 1.0], dim=0), TypeError, "diopiCat: 'tensors' is a list: pass a list of tensors"),
    (lambda lib: lib.packed("diopiSoftmax")(X, -1), TypeError, "diopiSoftmax: 3 arguments are expected, not 2"),
    (lambda lib: lib.packed("diopiSoftmax")(X, 1.5, X), TypeError, "'dim': an integer is expected, not a float"),
    (lambda lib: lib.packed("diopiSoftmax")("x", 1, X), TypeError, "'input': a tensor is expected, not a text"),
    (lambda lib: lib.packed("diopiSoftmax")(None, 1, X), RuntimeError, "input"),
    (lambda lib: lib.packed("diopiSoft"), AttributeError, "there is no operator 'diopiSoft'"),
    (lambda lib: lib.packed("diopiFlashAttention")(X, 2**40), TypeError, "arguments are expected, not 2"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=[text for _, _, text in ERRORS])
def test_errors_name_operator_and_parameter(
    library: diopi_ffi.Library, call: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as raised:
        call(library)
    assert text in str(raised.value)


def test_threads_have_contexts_of_their_own(library: diopi_ffi.Library) -> None:
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        for _ in range(50):
            found[seed] = library.nonzero(np.full(seed, 1.0)), library.add(X, X + seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, (positions, sums) in found.items():  # results of threads that have ended
        assert positions.shape == (seed, 1)
        np.testing.assert_array_equal(sums, X + (X + seed))


def test_memory_of_the_device_is_that_of_the_host(library: diopi_ffi.Library) -> None:
    assert library.device_type == diopi_ffi.library.DEVICES["cpu"]
    assert library.has("diopiAdd") and not library.has("diopiAd")
    tensor = library.empty((2, 3), "float32")
    library.fill(1.5, input=tensor)
    np.testing.assert_array_equal(np.from_dlpack(tensor), np.full((2, 3), np.float32(1.5)))


def test_without_the_package_one_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "tvm_ffi.py").write_text("raise ImportError('hidden')\n")
    program = "import diopi_ffi\ntry: diopi_ffi.load('libdiopi_impl.so')\nexcept ImportError as error: print(error)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path), "PATH": ""}, capture_output=True, text=True
    )
    assert done.stdout == "diopi_ffi needs the package apache-tvm-ffi: pip install apache-tvm-ffi (hidden)\n"
