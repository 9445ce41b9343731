// ResidualRMSNorm: the sum with the residual stream, then the norm of RMSNorm with a shifted weight.
#include <optional>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_library/each.h"
#include "llm.h"
#include "norm/norm_kernels.h"
#include "norm/trailing.h"
#include "serving/serving_kernels.h"

namespace diopigen {

using namespace core;

namespace {

struct ShiftedWeight {
    float* to;
    const float* weight;  // null for 1
    double offset;

    DIOPI_HOST_DEVICE void operator()(int64_t i) const {
        to[i] = static_cast<float>((weight == nullptr ? 1 : weight[i]) + offset);
    }
};

// `out` may be `input`.
void normalize_residual(const Tensor& out, const Tensor& residual, const Tensor& input, const Tensor& weight,
                        double eps, double offset) {
    require_separate({&out, &residual}, {&weight});
    if (!residual.is_null()) {
        require_disjoint(residual, input);
        serving::add_to_residual(residual, input, Tensor());
    }
    const Tensor& stream = residual.is_null() ? input : residual;
    const Trailing parts(stream, stream.rank - 1);
    const Temporary inverses({parts.rows}, Dtype::kFloat64, stream);
    std::optional<Temporary> shifted;
    if (offset != 0) {
        shifted.emplace(std::vector<int64_t>{parts.length}, Dtype::kFloat32, stream);
        const Input<float> stored(weight);
        Each()(parts.length, 1, ShiftedWeight{shifted->tensor().elements<float>(), stored.data(), offset});
    }
    normalise_rows_by_rms(out, inverses.tensor(), stream, shifted ? shifted->tensor() : weight, Tensor(), parts, eps);
}

}  // namespace

void entry::residual_rms_norm(const ResidualRMSNormArgs& args) {
    normalize_residual(args.out, args.residual, args.input, args.weight, args.eps, args.weight_offset);
}

void entry::residual_rms_norm_inp(const ResidualRMSNormInpArgs& args) {
    normalize_residual(args.input, args.residual, args.input, args.weight, args.eps, args.weight_offset);
}

}  // namespace diopigen
