// Places in sorted sequences, counts of integers, and other small compositions.
#include <ATen/ScalarOps.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// Counts the boundaries before each value.
at::Tensor placed(const at::Tensor& sequence, const at::Tensor& values, bool int32, bool right,
                  std::optional<std::string_view> side, const std::optional<at::Tensor>& sorter) {
    const bool shared = sequence.dim() == 1;
    const bool behind_equal = side.has_value() ? *side == "right" : right;
    if (side.has_value() && *side != "right" && (*side != "left" || right)) {
        fall_back("PyTorch rejects this");
    }
    if (sequence.dim() == 0 || sequence.scalar_type() != values.scalar_type() || sequence.numel() == 0 ||
        values.numel() == 0 || !is_in(kNumber, values.scalar_type()) ||
        values.numel() * sequence.size(-1) > kMostComparisons || sequence.device() != values.device() ||
        is_defined(sorter) ||
        (!shared && (sequence.dim() != values.dim() ||
                     sequence.sizes().slice(0, sequence.dim() - 1) != values.sizes().slice(0, values.dim() - 1)))) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    const at::Tensor boundaries = shared ? sequence : sequence.unsqueeze(-2);
    const at::Tensor x = values.unsqueeze(-1);
    // NaN comes last: the comparison is turned round.
    const at::Tensor behind = behind_equal ? boundaries.gt(x) : boundaries.ge(x);
    return behind.logical_not().sum(-1).to(int32 ? at::kInt : at::kLong);
}

at::Tensor number(const at::Scalar& value, const at::Tensor& like) {
    if (value.isComplex() || (value.isFloatingPoint() && !like.is_floating_point())) {
        fall_back("a number of another kind");
    }
    try {
        require_fits(like.scalar_type(), value);
    } catch (const std::exception&) {  // c10 throws std::runtime_error for numbers that overflow
        fall_back("a number beyond the dtype of the sequence");
    }
    return at::empty({}, like.options()).fill_(value);
}

}  // namespace

at::Tensor bucketize_tensor(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool right) {
    TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
    return placed(boundaries, self, out_int32, right, {}, {});
}

at::Tensor bucketize_scalar(const at::Scalar& self, const at::Tensor& boundaries, bool out_int32, bool right) {
    return bucketize_tensor(number(self, boundaries), boundaries, out_int32, right);
}

at::Tensor searchsorted_tensor(const at::Tensor& sorted_sequence, const at::Tensor& self, bool out_int32, bool right,
                               std::optional<std::string_view> side, const std::optional<at::Tensor>& sorter) {
    return placed(sorted_sequence, self, out_int32, right, side, sorter);
}

at::Tensor searchsorted_scalar(const at::Tensor& sorted_sequence, const at::Scalar& self, bool out_int32, bool right,
                               std::optional<std::string_view> side, const std::optional<at::Tensor>& sorter) {
    if (sorted_sequence.dim() != 1) {
        fall_back("PyTorch rejects this");
    }
    return placed(sorted_sequence, number(self, sorted_sequence), out_int32, right, side, sorter);
}

at::Tensor channel_shuffle(const at::Tensor& self, int64_t groups) {
    if (self.dim() < 3 || groups <= 0 || self.size(1) % groups != 0 || self.numel() == 0) {
        fall_back("PyTorch rejects this");
    }
    const int64_t size = self.size(1) / groups;
    return self.reshape({self.size(0), groups, size, -1}).transpose(1, 2).contiguous().reshape(self.sizes());
}

at::Tensor& narrow_copy(const at::Tensor& self, int64_t dim, int64_t start, int64_t length, at::Tensor& out) {
    return give(out, self.narrow(dim, start, length));
}

void special_xlog1py(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    require_floating(type);
    const at::Tensor factor = operand(out, self, type);
    const at::Tensor x = operand(out, other, type);
    const at::Tensor is_zero = factor.eq(0).logical_and(x.isnan().logical_not());
    put(out, factor.mul(x.log1p()).masked_fill(is_zero, 0));
}

void special_entr(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    const at::Tensor x = operand(out, self, type);
    const at::Tensor inside = x.neg().mul(x.log()).masked_fill(x.eq(0), 0);
    put(out, inside.masked_fill(x.lt(0), -std::numeric_limits<double>::infinity()));
}

at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights, int64_t minlength) {
    TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
    const bool has_weights = is_defined(weights);
    if (self.dim() != 1 || self.numel() == 0 || !is_in(kIntegral, self.scalar_type()) ||
        (has_weights && (weights->sizes() != self.sizes() || !is_in(kNumber, weights->scalar_type()))) ||
        self.min().item<int64_t>() < 0) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    const int64_t count = std::max(minlength, self.max().item<int64_t>() + 1);
    const at::ScalarType type = !has_weights                           ? at::kLong
                                : weights->scalar_type() == at::kFloat ? at::kFloat
                                                                       : at::kDouble;
    at::Tensor out = at::zeros({count}, self.options().dtype(type));
    const at::Tensor added = has_weights ? weights->to(type) : at::empty({}, out.options()).fill_(1);
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(self.to(at::kLong));
    return out.index_put_(indices, added, /*accumulate=*/true);
}

}  // namespace diopigen::backend::kernels
