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
    const bool behindEqual = side.has_value() ? *side == "right" : right;
    if (side.has_value() && *side != "right" && (*side != "left" || right)) {
        fallBack("PyTorch rejects this");
    }
    if (sequence.dim() == 0 || sequence.scalar_type() != values.scalar_type() || sequence.numel() == 0 ||
        values.numel() == 0 || !isIn(kNumber, values.scalar_type()) ||
        values.numel() * sequence.size(-1) > kMostComparisons || sequence.device() != values.device() ||
        isDefined(sorter) ||
        (!shared && (sequence.dim() != values.dim() ||
                     sequence.sizes().slice(0, sequence.dim() - 1) != values.sizes().slice(0, values.dim() - 1)))) {
        fallBack("PyTorch rejects this, or has a rule of its own for it");
    }
    const at::Tensor boundaries = shared ? sequence : sequence.unsqueeze(-2);
    const at::Tensor x = values.unsqueeze(-1);
    // NaN comes last: the comparison is turned round.
    const at::Tensor behind = behindEqual ? boundaries.gt(x) : boundaries.ge(x);
    return behind.logical_not().sum(-1).to(int32 ? at::kInt : at::kLong);
}

at::Tensor number(const at::Scalar& value, const at::Tensor& like) {
    if (value.isComplex() || (value.isFloatingPoint() && !like.is_floating_point())) {
        fallBack("a number of another kind");
    }
    try {
        requireFits(like.scalar_type(), value);
    } catch (const std::exception&) {  // c10 throws std::runtime_error for numbers that overflow
        fallBack("a number beyond the dtype of the sequence");
    }
    return at::empty({}, like.options()).fill_(value);
}

}  // namespace

at::Tensor bucketizeTensor(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32, bool right) {
    TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
    return placed(boundaries, self, out_int32, right, {}, {});
}

at::Tensor bucketizeScalar(const at::Scalar& self, const at::Tensor& boundaries, bool out_int32, bool right) {
    return bucketizeTensor(number(self, boundaries), boundaries, out_int32, right);
}

at::Tensor searchsortedTensor(const at::Tensor& sorted_sequence, const at::Tensor& self, bool out_int32, bool right,
                              std::optional<std::string_view> side, const std::optional<at::Tensor>& sorter) {
    return placed(sorted_sequence, self, out_int32, right, side, sorter);
}

at::Tensor searchsortedScalar(const at::Tensor& sorted_sequence, const at::Scalar& self, bool out_int32, bool right,
                              std::optional<std::string_view> side, const std::optional<at::Tensor>& sorter) {
    if (sorted_sequence.dim() != 1) {
        fallBack("PyTorch rejects this");
    }
    return placed(sorted_sequence, number(self, sorted_sequence), out_int32, right, side, sorter);
}

at::Tensor channelShuffle(const at::Tensor& self, int64_t groups) {
    if (self.dim() < 3 || groups <= 0 || self.size(1) % groups != 0 || self.numel() == 0) {
        fallBack("PyTorch rejects this");
    }
    const int64_t size = self.size(1) / groups;
    return self.reshape({self.size(0), groups, size, -1}).transpose(1, 2).contiguous().reshape(self.sizes());
}

at::Tensor& narrowCopy(const at::Tensor& self, int64_t dim, int64_t start, int64_t length, at::Tensor& out) {
    return give(out, self.narrow(dim, start, length));
}

void specialXlog1py(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    requireFloating(type);
    const at::Tensor factor = operand(out, self, type);
    const at::Tensor x = operand(out, other, type);
    const at::Tensor isZero = factor.eq(0).logical_and(x.isnan().logical_not());
    put(out, factor.mul(x.log1p()).masked_fill(isZero, 0));
}

void specialEntr(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    const at::Tensor x = operand(out, self, type);
    const at::Tensor inside = x.neg().mul(x.log()).masked_fill(x.eq(0), 0);
    put(out, inside.masked_fill(x.lt(0), -std::numeric_limits<double>::infinity()));
}

at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights, int64_t minlength) {
    TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
    const bool hasWeights = isDefined(weights);
    if (self.dim() != 1 || self.numel() == 0 || !isIn(kIntegral, self.scalar_type()) ||
        (hasWeights && (weights->sizes() != self.sizes() || !isIn(kNumber, weights->scalar_type()))) ||
        self.min().item<int64_t>() < 0) {
        fallBack("PyTorch rejects this, or has a rule of its own for it");
    }
    const int64_t count = std::max(minlength, self.max().item<int64_t>() + 1);
    const at::ScalarType type = !hasWeights                            ? at::kLong
                                : weights->scalar_type() == at::kFloat ? at::kFloat
                                                                       : at::kDouble;
    at::Tensor out = at::zeros({count}, self.options().dtype(type));
    const at::Tensor added = hasWeights ? weights->to(type) : at::empty({}, out.options()).fill_(1);
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(self.to(at::kLong));
    return out.index_put_(indices, added, /*accumulate=*/true);
}

}  // namespace diopigen::backend::kernels
