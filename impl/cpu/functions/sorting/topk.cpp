// Topk: the first elements of each row in order, without sorting the others. Of equal elements the first are taken.
#include <diopi/functions.h>

#include "kernels.h"
#include "pick.h"
#include "sorted_rows.h"

using namespace diopi::cpu;

namespace {

void pick(const Tensor& values, const Tensor& indices, const Tensor& input, int64_t dim, int64_t wanted, bool largest) {
    const Rows rows = rows_over(input, "dim", &dim);
    const View from = permuted(input, rows.order());
    const View to_values = permuted(values, rows.order());
    const View to_indices = permuted(indices, rows.order());
    require_countable(rows.length);
    pick_rows_of(to_values.tensor(), to_indices.tensor(), from.tensor(), rows, wanted, largest);
}

}  // namespace

DIOPI_API diopiError_t diopiTopk(diopiContextHandle_t ctx, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                                 diopiConstTensorHandle_t input, int64_t k, int64_t dim, bool largest,
                                 bool /*sorted: they come in order in any case*/) {
    return guarded("diopiTopk", ctx, [&] {
        const Tensor values_tensor = tensor("values", values, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        std::vector<int64_t> shape = shape_of(input_tensor);
        require(k >= 0 && k <= (shape.empty() ? 1 : shape[at]),
                "C2: k is in [0, size(input, dim)], a 0-d input having size 1");
        if (!shape.empty()) {
            shape[at] = k;
        }
        require_shape(values_tensor, shape);
        require_shape(indices_tensor, shape);
        check_pick(values_tensor, indices_tensor, input_tensor);
        if (values_tensor.numel > 0) {
            pick(values_tensor, indices_tensor, input_tensor, at, shape.empty() ? 1 : k, largest);
        }
    });
}
