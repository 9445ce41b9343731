// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps).
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

void diopigen::entry::sum(const SumArgs& args) {
    require_disjoint(args.out, args.input);
    reduce_sum(args.out, args.input, rows_over(args.input, args.dim));
}

void diopigen::entry::mean(const MeanArgs& args) {
    require_disjoint(args.out, args.input);
    reduce_mean(args.out, args.input, rows_over(args.input, args.dim));
}

void diopigen::entry::prod(const ProdArgs& args) {
    require_disjoint(args.out, args.input);
    const Dtype dtype = args.out.dtype;
    if (dtype == args.input.dtype || (is_integral(dtype) && is_integral(args.input.dtype))) {
        reduce_product(args.out, args.input, rows_over(args.input, args.dim));
        return;
    }
    // The factors are cast to the dtype of the result first: a product of fractions is not one of whole numbers.
    const Temporary factors(shape_of(args.input), dtype, args.input);
    copy_elements(factors.tensor(), args.input);
    reduce_product(args.out, factors.tensor(), rows_over(factors.tensor(), args.dim));
}
