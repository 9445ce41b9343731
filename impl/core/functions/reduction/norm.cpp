// Norm, LinalgVecNorm and the gradient of both. Powers are summed in double.
#include "diopi_core/arguments.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

void diopigen::entry::norm(const NormArgs& args) {
    require_dtype_of(args.out, kFloating);
    require_disjoint(args.out, args.input);
    vector_norms(args.out, args.input, rows_over(args.input, args.dim), args.p.value_or(Number::of(2)).value());
}

void diopigen::entry::linalg_vec_norm(const LinalgVecNormArgs& args) {
    require_dtype_of(args.out, kFloating);
    require_disjoint(args.out, args.input);
    vector_norms(args.out, args.input, rows_over(args.input, args.dim), args.ord.value());
}

void diopigen::entry::norm_backward(const NormBackwardArgs& args) {
    for (const Tensor* read : {&args.grad_output, &args.self, &args.norm}) {
        require_disjoint(args.grad_input, *read);
    }
    const Rows rows = rows_over(args.self, args.dim);
    const View source = permuted(args.self, rows.order());
    const View target = permuted(args.grad_input, rows.order());
    vector_norm_gradient(target.tensor(), args.grad_output, source.tensor(), args.norm, rows, args.p.value());
}
