// Kernels that are made of other operators of the device.
#ifndef DIOPIGEN_TORCH_COMPOSE_H_
#define DIOPIGEN_TORCH_COMPOSE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <diopigen_torch/call.h>

#include <cstdint>
#include <limits>

namespace diopigen::backend {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Kernels that compare every value with every other leave more to the CPU, which sorts them or halves its way.
constexpr int64_t kMostComparisons = int64_t{1} << 24;

/// The dtype to compute in: several steps in half precision would round several times, where PyTorch rounds once.
inline at::ScalarType wide(at::ScalarType type) { return at::isReducedFloatingType(type) ? at::kFloat : type; }

/// An operand on the device of `out`, in the dtype to compute in. It may be a number that PyTorch keeps on the CPU.
inline at::Tensor operand(const at::Tensor& out, const at::Tensor& tensor, at::ScalarType type) {
    return tensor.to(out.device(), wide(type));
}

/// Leaves dtypes other than real floating ones to the CPU, which rejects them in its words.
inline void require_floating(at::ScalarType type) {
    if (!at::isFloatingType(type)) {
        fall_back_for_dtype(type);
    }
}

/// Writes a result, which may be of a wider dtype.
inline void put(at::Tensor& out, const at::Tensor& result) { out.copy_(result); }

/// `chosen` where `condition` holds, a number elsewhere; and the other way round.
inline at::Tensor else_number(const at::Tensor& condition, const at::Tensor& selected, const at::Scalar& otherwise) {
    return selected.masked_fill(condition.logical_not(), otherwise);
}
inline at::Tensor select(const at::Tensor& condition, const at::Tensor& selected, const at::Tensor& otherwise) {
    return selected.where(condition, otherwise);
}

/// Tells where the sign bit is set, of zeros and NaN too.
inline at::Tensor is_negative(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kHalf:
        case at::kBFloat16:
            return tensor.view(at::kShort).lt(0);
        case at::kFloat:
            return tensor.view(at::kInt).lt(0);
        case at::kDouble:
            return tensor.view(at::kLong).lt(0);
        default:
            return tensor.lt(0);
    }
}

/// Rounds towards zero.
inline at::Tensor truncated(const at::Tensor& tensor) { return select(tensor.lt(0), tensor.ceil(), tensor.floor()); }

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_COMPOSE_H_
