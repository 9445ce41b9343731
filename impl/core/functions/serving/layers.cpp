// FusedSiluFfn, RootMeanSquareNorm and FusedAddRootMeanSquareNorm. What one product hands to the next is rounded to the
// dtype of the operands.
#include "diopi_core/kernel_checks.h"
#include "linalg_matmul/batches.h"
#include "norm/norm_kernels.h"
#include "serving.h"
#include "serving_kernels.h"
#include "workspace.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;

namespace {

void multiply(const Tensor& out, const Tensor& left, const Tensor& right) {
    const View result = as_batch(out);
    const View first = as_batch(left);
    const View second = as_batch(right);
    multiply_tensors(result.tensor(), first.tensor(), second.tensor());
}

// Over the last dimension. `out` may be `input`.
void normalise(const Tensor& out, const Tensor& input, const Tensor& scale, float eps) {
    const Trailing parts(input, input.rank - 1);
    const Temporary inverses({parts.rows}, Dtype::kFloat64, input);
    normalise_rows_by_rms(out, inverses.tensor(), input, scale, Tensor(), parts, static_cast<double>(eps));
}

}  // namespace

void diopigen::entry::fused_silu_ffn_inp(const FusedSiluFfnInpArgs& args) {
    if (asks_for_size(args.workspace, args.workspace_size)) {
        no_memory({args.workspace_size});
        return;
    }
    const Tensor& x = args.inoutput;
    require_separate({&x}, {&args.weight1, &args.weight2, &args.weight3});
    const std::vector<int64_t> shape{x.shape[0], args.weight1.shape[1]};
    const Temporary gate(shape, x.dtype, x);
    const Temporary up(shape, x.dtype, x);
    multiply(gate.tensor(), x, args.weight1);
    multiply(up.tensor(), x, args.weight3);
    multiply_by_silu(gate.tensor(), up.tensor());
    multiply(x, gate.tensor(), args.weight2);
}

void diopigen::entry::root_mean_square_norm_inp(const RootMeanSquareNormInpArgs& args) {
    require_separate({&args.inoutput}, {&args.scale});
    normalise(args.inoutput, args.inoutput, args.scale, args.eps);
}

void diopigen::entry::fused_add_root_mean_square_norm_inp(const FusedAddRootMeanSquareNormInpArgs& args) {
    require_separate({&args.inoutput, &args.residual}, {&args.bias, &args.scale});
    add_to_residual(args.residual, args.inoutput, args.bias);
    normalise(args.inoutput, args.residual, args.scale, args.eps);
}
