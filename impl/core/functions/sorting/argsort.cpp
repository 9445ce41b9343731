// Argsort. The order of equal elements is preserved in any case.
#include "diopi_core/arguments.h"
#include "sorted_rows.h"
#include "sorting.h"
#include "sorting_kernels.h"

using namespace diopigen::core;

void diopigen::entry::argsort(const ArgsortArgs& args) {
    require_disjoint(args.out, args.input);
    const Rows rows = rows_over(args.input, args.dim.value_or(-1));
    const View from = permuted(args.input, rows.order());
    const View to = permuted(args.out, rows.order());
    argsort_rows_of(to.tensor(), from.tensor(), rows, args.descending);
}
