// Argsort. The order of equals is kept in any case.
#include <diopi/functions.h>

#include "kernels.h"
#include "sorted_rows.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiArgsort(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    bool /*stable*/, const int64_t* dim, bool descending) {
    return guarded("diopiArgsort", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const int64_t at = dimension("dim", dim == nullptr ? -1 : *dim, input_tensor.rank);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const Rows rows = rows_over(input_tensor, "dim", &at);
        const View from = permuted(input_tensor, rows.order());
        const View to = permuted(out_tensor, rows.order());
        argsort_rows_of(to.tensor(), from.tensor(), rows, descending);
    });
}
