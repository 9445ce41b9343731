// Any and All: whether elements differ from zero (NaN does).
#include "diopi_core/arguments.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

void diopigen::entry::any(const AnyArgs& args) {
    require_disjoint(args.out, args.input);
    find_truth(args.out, args.input, rows_over(args.input, args.dim), true);
}

void diopigen::entry::all(const AllArgs& args) {
    require_disjoint(args.out, args.input);
    find_truth(args.out, args.input, rows_over(args.input, args.dim), false);
}
