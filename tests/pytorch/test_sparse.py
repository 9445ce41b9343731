"""Sparse matrices on the device: products through diopiSpMM, their gradients, sums, and what optimizers ask of sparse
gradients; compared with the dense matrix on the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from what_ran import Functions

pytestmark = pytest.mark.filterwarnings("ignore:Sparse C:UserWarning")  # of PyTorch, that such tensors are in beta

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "uncoalesced": lambda dense: uncoalesced(dense),
}
SIZES = ((5, 7), (1, 4), (6, 1), (30, 40))


def sparse_values(rows: int, columns: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A dense matrix with a third of its entries and rows without any."""
    generator = torch.Generator().manual_seed(rows * 100 + columns)
    dense = torch.randn(rows, columns, generator=generator)
    dense[torch.rand(rows, columns, generator=generator) > 0.35] = 0
    dense[rows // 2 :: 3] = 0
    return dense.to(dtype)


def uncoalesced(dense: torch.Tensor) -> torch.Tensor:
    """Each entry twice, with half of its value, in an order that is not sorted."""
    given = dense.to_sparse().coalesce()
    indices = torch.cat((given.indices().flip(1), given.indices()), 1)
    return torch.sparse_coo_tensor(indices, torch.cat((given.values().flip(0), given.values())) / 2, dense.shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(layout: str, dtype: torch.dtype, droplet: Any, fallbacks: Any) -> None:
    below = Functions()
    for rows, columns in SIZES:
        left = sparse_values(rows, columns, dtype)
        other = torch.randn(columns, 3).to(dtype)
        own = LAYOUTS[layout](left).to(droplet)
        # Sums are kept in double and rounded once.
        expected = (left.double() @ other.double()).to(dtype)
        torch.testing.assert_close((own @ other.to(droplet)).cpu(), expected)
        torch.testing.assert_close(torch.sparse.mm(own, other.to(droplet)).cpu(), expected)
        torch.testing.assert_close((own @ other[:, 0].to(droplet)).cpu(), expected[:, 0])
        # With the dense one first, transposed, and one with strides.
        torch.testing.assert_close((other.t().to(droplet) @ own.t()).cpu(), expected.t())
        turned = (left.t().double() @ torch.ones(rows, 2).double()).to(dtype)
        torch.testing.assert_close((own.t() @ torch.ones(2, rows, dtype=dtype, device=droplet).t()).cpu(), turned)
    assert below.since().get("diopiSpMM", 0) > 0, "droplet lacks it: the reference library has it"
    assert fallbacks() == {}


PAIRS = (("coo", "coo"), ("csr", "csr"), ("csc", "csr"), ("csr", "csc"), ("coo", "uncoalesced"), ("uncoalesced", "csr"))


@pytest.mark.parametrize("first, second", PAIRS)
def test_products_of_two_sparse_matrices(first: str, second: str, droplet: Any, fallbacks: Any) -> None:
    for rows, columns in SIZES:
        left, right = sparse_values(rows, columns, torch.float64), sparse_values(columns, 4, torch.float64)
        own = LAYOUTS[first](left).to(droplet) @ LAYOUTS[second](right).to(droplet)
        assert own.layout == LAYOUTS[first](left).layout and own.shape == (rows, 4)
        torch.testing.assert_close(own.to_dense().cpu(), left @ right)
    assert fallbacks() == {}


def test_gradients_of_products_of_two_sparse_matrices(droplet: Any) -> None:
    left, right, weight = sparse_values(5, 7), sparse_values(7, 4), torch.randn(5, 4)
    results = []
    for device in ("cpu", droplet):
        factors = [one.to_sparse().to(device).requires_grad_() for one in (left, right)]
        (torch.sparse.mm(*factors).to_dense() * weight.to(device)).sum().backward()
        results.append([one.grad.to_dense().cpu() for one in factors if one.grad is not None])
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_that_are_added(layout: str, droplet: Any) -> None:
    left, other, added = sparse_values(5, 7), torch.randn(7, 3), torch.randn(3)
    own = LAYOUTS[layout](left).to(droplet)
    expected = torch.addmm(added, left, other, beta=0.5, alpha=2)
    result = torch.addmm(added.to(droplet), own, other.to(droplet), beta=0.5, alpha=2)
    torch.testing.assert_close(result.cpu(), expected)
    nothing = torch.full((5, 3), float("nan"), device=droplet)
    torch.testing.assert_close(torch.addmm(nothing, own, other.to(droplet), beta=0).cpu(), left @ other)
    out = torch.empty(0, device=droplet)
    torch.mm(own, other.to(droplet), out=out)
    torch.testing.assert_close(out.cpu(), left @ other)


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_an_infinity_meets_only_stored_entries(layout: str, droplet: Any) -> None:
    left = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    other = torch.tensor([[float("inf")], [3.0]])
    assert (LAYOUTS[layout](left).to(droplet) @ other.to(droplet)).tolist() == [[float("inf")], [6.0]]


@pytest.mark.parametrize("layout", ["coo", "csr", "uncoalesced"])
def test_gradients_of_products(layout: str, droplet: Any) -> None:
    left, other = sparse_values(5, 7), torch.randn(7, 3)
    weight = torch.randn(5, 3)
    results = []
    for device in ("cpu", droplet):
        sparse = LAYOUTS[layout](left).to(device).detach().requires_grad_()
        dense = other.detach().to(device).requires_grad_()
        (torch.sparse.mm(sparse, dense) * weight.to(device)).sum().backward()
        assert sparse.grad is not None and sparse.grad.layout == sparse.layout and dense.grad is not None
        results.append((sparse.grad.to_dense().cpu(), dense.grad.cpu()))
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, droplet: Any, fallbacks: Any) -> None:
    for rows, columns in SIZES:
        dense = sparse_values(rows, columns)
        own = LAYOUTS[layout](dense).to(droplet)
        torch.testing.assert_close(own.to_dense().cpu(), dense)
        torch.testing.assert_close(own.cpu().to_dense(), dense)
        torch.testing.assert_close(own.to_sparse().to_dense().cpu(), dense)
        assert own.to(torch.float64).dtype == torch.float64 and own.clone().layout == own.layout
        assert "droplet" in repr(own)
        assert torch.equal(dense.to(droplet).to_sparse().to_dense().cpu(), dense)
        rows_of = dense.to(droplet).to_sparse_csr()
        for name in ("crow_indices", "col_indices", "values"):
            assert torch.equal(getattr(rows_of, name)().cpu(), getattr(dense.to_sparse_csr(), name)())
    assert fallbacks() == {}


def test_coalesce(droplet: Any, fallbacks: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    for size, dense_dims in (((4, 5), ()), ((3, 2, 4), ()), ((6,), (2,)), ((3, 3), (2, 2))):
        indices = torch.stack([torch.randint(n, (20,), generator=generator) for n in size])
        values = torch.randint(-9, 9, (20, *dense_dims), generator=generator).float()
        given = torch.sparse_coo_tensor(indices, values, (*size, *dense_dims))
        own, expected = given.to(droplet).coalesce(), given.coalesce()
        assert own.is_coalesced() and not given.to(droplet).is_coalesced()
        assert torch.equal(own.indices().cpu(), expected.indices())
        assert torch.equal(own.values().cpu(), expected.values())
        assert torch.equal(given.to(droplet).to_dense().cpu(), given.to_dense())
    empty = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (3, 2), device=droplet)
    assert empty.coalesce().indices().shape == (2, 0) and empty.to_dense().sum().item() == 0
    assert fallbacks() == {}


def test_sums(droplet: Any, fallbacks: Any) -> None:
    first, second = sparse_values(4, 5), sparse_values(4, 5).flip(0)
    sparse = [one.to_sparse().to(droplet) for one in (first, second)]
    torch.testing.assert_close((sparse[0] + sparse[1]).to_dense().cpu(), first + second)
    torch.testing.assert_close(torch.add(first.to(droplet), sparse[1], alpha=-2).cpu(), first - 2 * second)
    turned = first.t().contiguous().to(droplet).t()
    turned.add_(sparse[1], alpha=3)
    torch.testing.assert_close(turned.cpu(), first + 3 * second)
    sparse[0] += sparse[1]
    torch.testing.assert_close(sparse[0].to_dense().cpu(), first + second)
    masked = first.to(droplet).sparse_mask(sparse[1].coalesce())
    torch.testing.assert_close(masked.to_dense().cpu(), first * (second != 0))
    assert fallbacks() == {}


UNARY = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac", "log1p"),
    *("neg", "rad2deg", "relu", "round", "sgn", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "uncoalesced"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_map_zero_to_zero(name: str, layout: str, droplet: Any) -> None:
    """On the stored values, in all forms that there are."""
    dense = sparse_values(5, 7).clamp(-0.9, 0.9)
    dense = dense.abs() if name == "sqrt" else dense
    function = getattr(torch, name)
    expected = function(dense)
    own = LAYOUTS[layout](dense).to(droplet)
    result = function(own)
    assert result.layout == own.layout
    torch.testing.assert_close(result.to_dense().cpu(), expected)
    if name != "relu" and layout != "csc":  # PyTorch's out= forms of compressed matrices are for CSR
        out = own.clone()
        function(own, out=out)
        torch.testing.assert_close(out.to_dense().cpu(), expected)
    # PyTorch has in-place forms of coalesced tensors alone, and that of round, which has an overload, not for CSC.
    if layout != "uncoalesced" and (name, layout) != ("round", "csc"):
        own = own.coalesce() if layout == "coo" else own
        getattr(own, name + "_")()
        torch.testing.assert_close(own.to_dense().cpu(), expected)


@pytest.mark.parametrize("name", ["SGD", "SparseAdam", "Adagrad"])
def test_sparse_gradients_of_embeddings(name: str, droplet: Any, fallbacks: Any) -> None:
    tokens = torch.tensor([[1, 2, 2, 0], [5, 1, 1, 3]])
    results = []
    for device in ("cpu", droplet):
        torch.manual_seed(0)
        table = nn.Embedding(8, 4, sparse=True, padding_idx=0).to(device)
        optimizer = getattr(torch.optim, name)(table.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            for _ in range(2):  # gradients add up
                F.mse_loss(table(tokens.to(device)), torch.ones(2, 4, 4, device=device)).backward()
            assert table.weight.grad is not None and table.weight.grad.is_sparse
            optimizer.step()
        results.append(table.weight.detach().cpu())
    torch.testing.assert_close(results[1], results[0])
    assert fallbacks() == {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_integers_are_composed(layout: str, droplet: Any, fallbacks: Any) -> None:
    """diopiSpMM takes floats."""
    left, other = (4 * sparse_values(5, 7)).long(), torch.arange(-10, 11).view(7, 3)
    own = (LAYOUTS[layout](left.double()).to(torch.int64) if layout == "uncoalesced" else LAYOUTS[layout](left)).to(
        droplet
    )
    dense = left if layout != "uncoalesced" else own.to_dense().cpu()
    assert (own @ other.to(droplet)).tolist() == (dense @ other).tolist()
    assert fallbacks() == {}


REFUSED: dict[str, tuple[str, Callable[[torch.Tensor, torch.Tensor], Any]]] = {
    "shapes": ("mat1 and mat2 shapes cannot be multiplied", lambda sparse, dense: sparse @ dense[:2]),
    "dtypes": ("to have the same dtype", lambda sparse, dense: sparse @ dense.double()),
    "devices": ("Expected all tensors to be on the same device", lambda sparse, dense: sparse @ dense.cpu()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_products_reject(name: str, droplet: Any) -> None:
    said, call = REFUSED[name]
    with pytest.raises((RuntimeError, NotImplementedError), match=said):
        call(torch.eye(3).to_sparse_csr().to(droplet), torch.ones(3, 2, device=droplet))


COMPRESSED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda dense: dense.to_sparse_bsr((2, 2)),
    "bsc": lambda dense: dense.to_sparse_bsc((2, 2)),
}
LACKING: dict[str, Callable[[torch.Tensor], Any]] = {
    "add": lambda one: one + one,
    "add in place": lambda one: one.add_(one),
    "add a dense one": lambda one: one + torch.ones(4, 4, device=one.device),
    "multiply": lambda one: one * 2,
    "compare": lambda one: one == one,
    "cos": torch.cos,
    "sigmoid": torch.sigmoid,
    "sum": torch.sum,
    "sum of a dimension": lambda one: one.sum(1),
    "norm": torch.norm,
    "cat": lambda one: torch.cat([one, one]),
    "where": lambda one: torch.where(one > 0, one, one),
    "select": lambda one: one[0],
    "element": lambda one: one[0, 0],
    "unbind": lambda one: one.unbind(),
    "narrow": lambda one: one.narrow(0, 0, 2),
    "unsqueeze": lambda one: one.unsqueeze(0),
    "fill": lambda one: one.fill_(1),
    "backward": lambda one: one.detach().requires_grad_().sum().backward(),
}


@pytest.mark.parametrize("name", LACKING)
@pytest.mark.parametrize("layout", COMPRESSED)
def test_what_compressed_matrices_lack_is_rejected_in_a_sentence(layout: str, name: str, droplet: Any) -> None:
    """With the operator, the layout, and what to do about it, which works."""
    dense = torch.eye(4)
    given = COMPRESSED[layout](dense).to(droplet)
    with pytest.raises(NotImplementedError) as caught:
        LACKING[name](given)
    kind = f"Sparse{layout.capitalize()}"
    what = rf"[\w.]+: droplet does not compute this with sparse tensors of layout {kind}"
    fix = r"move them to the CPU with cpu\(\)"
    if layout in ("csr", "csc"):
        fix = rf"it has their products with dense ones, make them dense with to_dense\(\) or {fix}"
        assert torch.equal(given.to_dense().cpu(), dense)
    assert re.fullmatch(f"{what}: {fix}", str(caught.value))
    assert torch.equal(given.cpu().to_dense(), dense)


@pytest.mark.parametrize("layout", ["bsr", "bsc"])
def test_blocks_have_no_products(layout: str, droplet: Any) -> None:
    given = COMPRESSED[layout](torch.eye(4)).to(droplet)
    for call in (lambda: given @ torch.ones(4, 2, device=droplet), given.to_dense, given.to_sparse):
        with pytest.raises(NotImplementedError, match=rf"got Sparse{layout.capitalize()} .* to the CPU with cpu\(\)$"):
            call()
