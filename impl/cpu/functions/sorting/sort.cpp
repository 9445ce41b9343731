// Sort: vectors of values and positions along one dimension.
#include <diopi/functions.h>

#include "kernels.h"
#include "pick.h"
#include "sorted_rows.h"

using namespace diopi::cpu;

namespace {

void sort(const Tensor& values, const Tensor& indices, const Tensor& input, int64_t dim, bool descending) {
    const Rows rows = rows_over(input, "dim", &dim);
    const View from = permuted(input, rows.order());
    const View to_values = permuted(values, rows.order());
    const View to_indices = permuted(indices, rows.order());
    sort_rows_of(to_values.tensor(), to_indices.tensor(), from.tensor(), rows, descending);
}

}  // namespace

DIOPI_API diopiError_t diopiSort(diopiContextHandle_t ctx, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                                 diopiConstTensorHandle_t input, int64_t dim, bool descending,
                                 const bool* /*pStable: the order of equals is kept in any case*/) {
    return guarded("diopiSort", ctx, [&] {
        const Tensor values_tensor = tensor("values", values, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        require_same_shape(values_tensor, input_tensor);
        require_same_shape(indices_tensor, input_tensor);
        check_pick(values_tensor, indices_tensor, input_tensor);
        sort(values_tensor, indices_tensor, input_tensor, at, descending);
    });
}
