// Topk: the first elements of each row in order, without sorting the others. Of equal elements the first are taken.
#include "diopi_core/arguments.h"
#include "pick.h"
#include "sorted_rows.h"
#include "sorting.h"
#include "sorting_kernels.h"

using namespace diopigen::core;

void diopigen::entry::topk(const TopkArgs& args) {
    require_picks_apart(args.values, args.indices, args.input);
    if (args.values.numel == 0) {
        return;
    }
    const Rows rows = rows_over(args.input, args.dim);
    const View from = permuted(args.input, rows.order());
    const View to_values = permuted(args.values, rows.order());
    const View to_indices = permuted(args.indices, rows.order());
    require_countable(rows.length);
    pick_rows_of(to_values.tensor(), to_indices.tensor(), from.tensor(), rows, args.input.rank == 0 ? 1 : args.k,
                 args.largest);
}
