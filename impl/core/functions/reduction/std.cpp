// Std by one walk through memory: the mean and the squared distances from it of one block after the other, each of
// which stays in the cache, joined as Chan, Golub and LeVeque (1979) do. All is summed in double, relative to an
// element of the block, so that what counts for the error is how far elements are apart, not how far they are from
// zero.
#include <algorithm>

#include "diopi_core/arguments.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

void diopigen::entry::std(const StdArgs& args) {
    require_disjoint(args.out, args.input);
    const Rows rows = rows_over(args.input, args.dim);
    const double correction = args.correction.value_or(Number::of(1)).value();
    deviations(args.out, args.input, rows, std::max(static_cast<double>(rows.length) - correction, 0.0));
}
