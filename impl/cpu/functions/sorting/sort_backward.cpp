// The gradient of operators that pick elements along one dimension. Of repeated positions the last stays.
#include <diopi/functions.h>

#include "../indexing/positions.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiSortBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                         diopiConstTensorHandle_t grad_output, int64_t dim,
                                         diopiConstTensorHandle_t indices, diopiSize_t sizes, bool keepdim) {
    return guarded("diopiSortBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating);
        const Tensor gradient = tensor("grad_output", grad_output, kFloating);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_same_dtype(result, gradient);
        const std::vector<int64_t> shape = sizes_of("sizes", sizes);
        require_shape(result, shape);
        const int64_t at = dimension("dim", dim, result.rank);
        require_same_shape(gradient, indices_tensor);
        std::vector<int64_t> picked = shape;
        int64_t count = 1;
        if (result.rank > 0 && keepdim) {
            require_rank(indices_tensor, result.rank, result.rank);
            count = indices_tensor.shape[at];
            picked[at] = count;
        } else if (result.rank > 0) {
            picked.erase(picked.begin() + at);
        }
        require_shape(indices_tensor, picked);
        require_one_device({&result, &gradient, &indices_tensor});
        require_no_overlap(result);
        require_disjoint(result, gradient);
        require_disjoint(result, indices_tensor);
        const Around place = around(shape_at_least_1d(result), at);
        const Positions positions(indices_tensor, place.size);
        return_slices(result, gradient, positions, place, count);
    });
}
