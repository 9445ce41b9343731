// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps).
#include "diopi_core/arguments.h"
#include "kernels.h"
#include "reduction.h"

using namespace diopi::core;

void diopi::kernels::sum(const SumArgs& args) {
    require_disjoint(args.out, args.input);
    reduce_sum(args.out, args.input, rows_over(args.input, args.dim));
}

void diopi::kernels::mean(const MeanArgs& args) {
    require_disjoint(args.out, args.input);
    reduce_mean(args.out, args.input, rows_over(args.input, args.dim));
}

void diopi::kernels::prod(const ProdArgs& args) {
    require_disjoint(args.out, args.input);
    reduce_product(args.out, args.input, rows_over(args.input, args.dim));
}
