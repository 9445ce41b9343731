// Sort: vectors of values and indices along one dimension. The order of equal elements is preserved in any case.
#include "diopi_core/arguments.h"
#include "pick.h"
#include "sorted_rows.h"
#include "sorting.h"
#include "sorting_kernels.h"

using namespace diopigen::core;

void diopigen::entry::sort(const SortArgs& args) {
    require_picks_apart(args.values, args.indices, args.input);
    const Rows rows = rows_over(args.input, args.dim);
    const View from = permuted(args.input, rows.order());
    const View to_values = permuted(args.values, rows.order());
    const View to_indices = permuted(args.indices, rows.order());
    sort_rows_of(to_values.tensor(), to_indices.tensor(), from.tensor(), rows, args.descending);
}
