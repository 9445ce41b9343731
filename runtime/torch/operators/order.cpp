// Functions that follow from an order of elements: distinct ones, order statistics, members of a set.
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using Distinct = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Distinct distinct(const at::Tensor& self, std::optional<int64_t> dim, bool inverse, bool counts) {
    const auto options = self.options().dtype(at::kLong);
    if (self.numel() == 0) {
        fall_back("PyTorch has rules of its own for nothing");
    }
    at::Tensor inverse_indices = at::empty({0}, options);
    if (inverse) {
        inverse_indices = dim.has_value() ? at::empty({self.size(*dim)}, options) : at::empty(self.sizes(), options);
    }
    Call call(self);
    const Allocated values;
    const Allocated numbers;
    call("diopiUnique", diopiUnique, values, Input(call, self, kNumber | kBool), Optional<int64_t>(dim), true, counts,
         inverse ? handle(inverse_indices) : nullptr, numbers);
    return {values.tensor(), inverse_indices, counts ? numbers.tensor() : at::empty({0}, options)};
}

// The elements at one place of each sorted row, NaN last; the place is the first NaN where there is one and
// `stop_at_nan`.
void fill_at(at::Tensor& values, at::Tensor& indices, const at::Tensor& self, int64_t position, int64_t dim,
             bool keepdim, bool stop_at_nan) {
    if (self.dim() == 0 || self.numel() == 0 || !is_in(kNumber, self.scalar_type()) ||
        values.scalar_type() != self.scalar_type() || indices.scalar_type() != at::kLong) {
        fall_back("PyTorch has rules of its own for this");
    }
    const auto [ordered, order] = self.sort(/*stable=*/true, dim, /*descending=*/false);
    at::Tensor value = ordered.narrow(dim, position, 1);
    at::Tensor index = order.narrow(dim, position, 1);
    if (stop_at_nan && self.is_floating_point()) {
        const at::Tensor numbers = ordered.isnan().logical_not().sum(dim, /*keepdim=*/true);
        const at::Tensor selected = select(numbers.eq(self.size(dim)), numbers.mul(0).add(position), numbers);
        value = ordered.gather(dim, selected);
        index = order.gather(dim, selected);
    }
    value = keepdim ? value : value.squeeze(dim);
    index = keepdim ? index : index.squeeze(dim);
    at::native::resize_output(values, value.sizes());
    at::native::resize_output(indices, index.sizes());
    put(values, value);
    put(indices, index);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> unique(const at::Tensor& self, bool sorted, bool return_inverse) {
    const auto [values, inverse_indices, counts] = distinct(self, {}, return_inverse, false);
    return {values, inverse_indices};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> unique2(const at::Tensor& self, bool sorted, bool return_inverse,
                                                       bool return_counts) {
    return distinct(self, {}, return_inverse, return_counts);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> unique_dim(const at::Tensor& self, int64_t dim, bool sorted,
                                                          bool return_inverse, bool return_counts) {
    return distinct(self, at::maybe_wrap_dim(dim, self.dim()), return_inverse, return_counts);
}

at::Tensor repeat_interleave_tensor(const at::Tensor& repeats, std::optional<int64_t> output_size) {
    TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
    TORCH_CHECK(is_in(kIndex, repeats.scalar_type()), "repeats has to be Long or Int tensor");
    if (repeats.size(0) == 0) {
        return at::empty({0}, repeats.options());
    }
    TORCH_CHECK(repeats.min().item<int64_t>() >= 0, "repeats can not be negative");
    const at::Tensor ends = repeats.cumsum(0);
    const int64_t total = ends.narrow(0, ends.size(0) - 1, 1).item<int64_t>();
    TORCH_CHECK(total == output_size.value_or(total), "allocated size does not match required size");
    // A position belongs to as many elements as end at or before it.
    at::Tensor marks = at::zeros({total + 1}, ends.options());
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(ends);
    marks.index_put_(indices, at::empty({}, ends.options()).fill_(1), /*accumulate=*/true);
    return marks.narrow(0, 0, total).cumsum(0).to(repeats.scalar_type());
}

std::tuple<at::Tensor&, at::Tensor&> kthvalue(const at::Tensor& self, int64_t k, int64_t dim, bool keepdim,
                                              at::Tensor& values, at::Tensor& indices) {
    const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
    if (self.dim() == 0) {
        fall_back("a tensor without dimensions");
    }
    TORCH_CHECK_INDEX(self.size(wrapped) != 0, "kthvalue(): Expected reduction dim ", wrapped,
                      " to have non-zero size.");
    TORCH_CHECK(k >= 1 && k <= self.size(wrapped), "kthvalue(): selected number k out of range for dimension ",
                wrapped);
    fill_at(values, indices, self, k - 1, wrapped, keepdim, /*stop_at_nan=*/false);
    return std::tie(values, indices);
}

std::tuple<at::Tensor&, at::Tensor&> median_dim(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& values,
                                                at::Tensor& indices) {
    const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
    if (self.dim() == 0) {
        fall_back("a tensor without dimensions");
    }
    fill_at(values, indices, self, (self.size(wrapped) - 1) / 2, wrapped, keepdim, /*stop_at_nan=*/true);
    return std::tie(values, indices);
}

at::Tensor median(const at::Tensor& self) {
    if (self.numel() == 0) {
        fall_back("the median of nothing");
    }
    at::Tensor value = at::empty({}, self.options());
    at::Tensor index = at::empty({}, self.options().dtype(at::kLong));
    fill_at(value, index, self.reshape({-1}), (self.numel() - 1) / 2, 0, /*keepdim=*/false, /*stop_at_nan=*/true);
    return value;
}

void isin_tensor_tensor(at::Tensor& out, const at::Tensor& elements, const at::Tensor& test_elements,
                        bool assume_unique, bool invert) {
    if (elements.numel() * test_elements.numel() > kMostComparisons) {
        fall_back("too many comparisons");
    }
    if (test_elements.numel() == 0) {
        out.fill_(invert);
        return;
    }
    const at::Tensor found = elements.unsqueeze(-1).eq(test_elements.reshape({-1})).any(-1);
    put(out, invert ? found.logical_not() : found);
}

void isin_tensor_scalar(at::Tensor& out, const at::Tensor& elements, const at::Scalar& test_element, bool assume_unique,
                        bool invert) {
    put(out, invert ? elements.ne(test_element) : elements.eq(test_element));
}

void isin_scalar_tensor(at::Tensor& out, const at::Scalar& element, const at::Tensor& test_elements, bool assume_unique,
                        bool invert) {
    const at::Tensor found = test_elements.eq(element).any();
    at::native::resize_output(out, {});  // PyTorch's meta function has no element, for the kernel to resize
    put(out, invert ? found.logical_not() : found);
}

}  // namespace diopigen::backend::kernels
