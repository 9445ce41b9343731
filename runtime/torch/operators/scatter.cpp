// Sums, products, means and extremes of the elements that an index sends to the same position.
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using Indices = c10::List<std::optional<at::Tensor>>;

Indices only(const at::Tensor& index) {
    Indices indices;
    indices.push_back(index);
    return indices;
}

void add_into(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Tensor& src, const char* reduce) {
    Call call(out);
    call("diopiScatterInp", diopiScatterInp, Output(out), dim, Input(call, src), Input(call, index, kIndex), reduce);
}

// One number at all positions that the index names.
void write(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Scalar& number) {
    Call call(out);
    call("diopiScatterInpScalar", diopiScatterInpScalar, Output(out), dim, Number(number), Input(call, index, kIndex),
         "");
}

// The elements of `src` that the index covers: it may be smaller in every dimension.
at::Tensor covered(const at::Tensor& src, const at::Tensor& index) {
    at::Tensor part = src;
    for (int64_t i = 0; i < index.dim(); ++i) {
        part = part.narrow(i, 0, index.size(i));
    }
    return part;
}

// Flat index of each element in a contiguous `out`.
at::Tensor targets(const at::Tensor& out, int64_t dim, const at::Tensor& index) {
    at::Tensor all;
    int64_t stride = 1;
    for (int64_t i = out.dim() - 1; i >= 0; --i) {
        std::vector<int64_t> shape(static_cast<size_t>(out.dim()), 1);
        shape[static_cast<size_t>(i)] = index.size(i);
        const at::Tensor along =
            i == dim ? index.to(at::kLong) : at::arange(index.size(i), index.options().dtype(at::kLong)).view(shape);
        const at::Tensor steps = along.mul(stride);
        all = all.defined() ? all.add(steps) : steps;
        stride *= out.size(i);
    }
    return all.expand(index.sizes()).reshape({-1});
}

// Sorted by value and then, stably, by target: the last of each target is its largest (or smallest) element, or NaN.
void take_extreme(at::Tensor& out, int64_t dim, const at::Tensor& index, const at::Tensor& src, bool is_largest,
                  bool includes_self) {
    if (index.min().item<int64_t>() < 0 || index.max().item<int64_t>() >= out.size(dim)) {
        fall_back("PyTorch rejects this");
    }
    const at::Tensor values = covered(src, index).reshape({-1});
    // NaN is sorted to the end, so floating numbers are negated rather than sorted the other way round.
    const bool is_negated = !is_largest && values.is_floating_point();
    const at::Tensor by_value =
        std::get<1>((is_negated ? values.neg() : values).sort(/*stable=*/true, 0, !is_largest && !is_negated));
    const at::Tensor offsets = targets(out, dim, index).index_select(0, by_value);
    const auto [sorted, by_offset] = offsets.sort(/*stable=*/true, 0, false);
    const at::Tensor ordered = values.index_select(0, by_value.index_select(0, by_offset));
    const int64_t count = sorted.numel();
    at::Tensor is_last = at::empty({count}, sorted.options().dtype(at::kBool)).fill_(true);
    if (count > 1) {
        is_last.narrow(0, 0, count - 1).copy_(sorted.narrow(0, 0, count - 1).ne(sorted.narrow(0, 1, count - 1)));
    }
    const at::Tensor selected = sorted.masked_select(is_last);
    at::Tensor extreme = ordered.masked_select(is_last);
    at::Tensor flat = out.reshape({-1});
    if (includes_self) {
        const at::Tensor own = flat.index_select(0, selected);
        extreme = is_largest ? at::maximum(own, extreme) : at::minimum(own, extreme);
    }
    flat.index_put_(only(selected), extreme);
    if (!flat.is_alias_of(out)) {
        out.copy_(flat.view(out.sizes()));
    }
}

void take_mean(at::Tensor& out, int64_t dim, const at::Tensor& index, bool includes_self) {
    at::Tensor counts = at::empty(out.sizes(), out.options()).fill_(includes_self ? 1 : 0);
    const at::Tensor one = at::empty({1}, out.options()).fill_(1).expand(index.sizes());
    add_into(counts, dim, index, one, "add");
    counts.clamp_min_(1);
    if (out.is_floating_point()) {
        out.div_(counts);
    } else {
        out.floor_divide_(counts);
    }
}

}  // namespace

void scatter_reduce_two(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                        const at::Tensor& src, std::string_view reduce, bool include_self) {
    const bool is_extreme = reduce == "amax" || reduce == "amin";
    if (self.dim() == 0 || index.dim() == 0 || src.dim() == 0 || !is_in(kNumber, self.scalar_type())) {
        fall_back("PyTorch has rules of its own for this");
    }
    if (!out.is_same(self)) {
        out.copy_(self);
    }
    if (index.numel() == 0) {
        return;
    }
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    if (is_extreme) {
        take_extreme(out, along, index, src, reduce == "amax", include_self);
        return;
    }
    if (!include_self) {
        write(out, along, index, reduce == "prod" ? 1 : 0);
    }
    add_into(out, along, index, src, reduce == "prod" ? "multiply" : "add");
    if (reduce == "mean") {
        take_mean(out, along, index, include_self);
    }
}

}  // namespace diopigen::backend::kernels
