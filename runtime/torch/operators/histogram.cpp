// Counts of numbers by intervals.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>

#include <cmath>
#include <limits>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

struct Range {
    double low;
    double high;
};

// Without bounds those of the numbers; one number gets an interval around it. In integers PyTorch cuts off the bounds.
Range range_of(const at::Tensor& self, const at::Scalar& min, const at::Scalar& max) {
    const bool is_whole = at::isIntegralType(self.scalar_type(), /*includeBool=*/false);
    Range range{is_whole ? static_cast<double>(min.toLong()) : min.toDouble(),
                is_whole ? static_cast<double>(max.toLong()) : max.toDouble()};
    if (range.low == range.high && self.numel() != 0) {
        range = {self.min().item().toDouble(), self.max().item().toDouble()};
    }
    if (range.low == range.high) {
        range = {range.low - 1, range.high + 1};
    }
    TORCH_CHECK(std::isfinite(range.low) && std::isfinite(range.high), "range of [", range.low, ", ", range.high,
                "] is not finite");
    TORCH_CHECK(range.low < range.high, "max must be larger than min");
    return range;
}

// The interval of each number, in the dtype of the numbers, as PyTorch computes it: of floating ones rounded at each
// operation, of integers in integers.
at::Tensor intervals(const at::Tensor& numbers, int64_t bins, const Range& range) {
    const double widest = (range.high / 2 - range.low / 2) * static_cast<double>(bins) * 2;
    const double largest =
        numbers.scalar_type() == at::kFloat ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    if (numbers.is_floating_point() && !(widest < largest)) {
        // In that dtype the products overflow, on PyTorch's devices too: here the numbers are made small first.
        const double scale = std::ldexp(1.0, -64);
        const at::Tensor small = numbers.to(at::kDouble).mul(scale);
        const double width = range.high * scale - range.low * scale;
        return small.sub(range.low * scale).div(width).mul(bins).floor().to(numbers.scalar_type());
    }
    if (numbers.is_floating_point()) {
        return numbers.sub(range.low).mul(bins).div(range.high - range.low).floor();
    }
    const auto low = static_cast<int64_t>(range.low);
    return numbers.to(at::kLong).sub(low).mul(bins).floor_divide(static_cast<int64_t>(range.high) - low);
}

}  // namespace

at::Tensor& histc(const at::Tensor& self, int64_t bins, const at::Scalar& min, const at::Scalar& max, at::Tensor& out) {
    const at::ScalarType type = self.scalar_type();
    if (!is_in(kFloat32 | kFloat64 | kInt8 | kUint8 | kInt16 | kInt32 | kInt64, type) || min.isComplex() ||
        max.isComplex()) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    TORCH_CHECK(bins > 0, "bins must be > 0");
    TORCH_CHECK(!out.defined() || out.scalar_type() == type, "torch.histc: input tensor and hist tensor should have ",
                "the same dtype, but got input ", type, " and hist ", out.defined() ? out.scalar_type() : type);
    const Range range = range_of(self, min, max);
    make_or_resize(out, {bins}, self.options());
    // Numbers outside go to an interval of their own, which is cut off.
    const at::Tensor numbers = self.reshape({-1});
    const at::Tensor is_inside = numbers.ge(range.low).logical_and(numbers.le(range.high));
    const at::Tensor selected =
        intervals(numbers, bins, range).clamp_max(bins - 1).masked_fill(is_inside.logical_not(), bins);
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(selected.to(at::kLong));
    const at::Tensor counts = at::zeros({bins + 1}, self.options().dtype(at::kLong));
    const at::Tensor one = at::empty({}, counts.options()).fill_(1);
    if (numbers.numel() != 0) {
        counts.index_put_(indices, one, /*accumulate=*/true);
    }
    return out.copy_(counts.narrow(0, 0, bins));
}

}  // namespace diopigen::backend::kernels
