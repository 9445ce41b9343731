// Gradients of IndexSelect and Embedding, which add slices up.
#include <diopi/functions.h>

#include "kernels.h"
#include "positions.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiIndexSelectBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                diopiConstTensorHandle_t grad, diopiSize_t input_sizes, int64_t dim,
                                                diopiConstTensorHandle_t index) {
    return guarded("diopiIndexSelectBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad", grad, kFloating | kComplex);
        const Tensor index_tensor = tensor("index", index, kIndex);
        require_same_dtype(result, gradient);
        std::vector<int64_t> shape = sizes_of("input_sizes", input_sizes);
        require_shape(result, shape);
        const int64_t at = dimension("dim", dim, result.rank);
        require_rank(index_tensor, 1, 1);
        const Around place = around(shape_at_least_1d(result), at);
        if (result.rank > 0) {
            shape[at] = index_tensor.numel;
        } else {
            require(index_tensor.numel == 1, "parameter 'index' names more than the one slice of 0-d tensors");
        }
        require_shape(gradient, shape);
        require_one_device({&result, &gradient, &index_tensor});
        require_no_overlap(result);
        require_disjoint(result, gradient);
        require_disjoint(result, index_tensor);
        const Positions positions(index_tensor, place.size);
        add_up_slices(result, gradient, positions, place);
    });
}

DIOPI_API diopiError_t diopiEmbeddingBackward(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices,
                                              int64_t num_weights, int64_t padding_idx, bool scale_grad_byfreq,
                                              bool /*sparse: the result is dense in any case*/) {
    return guarded("diopiEmbeddingBackward", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor grad_tensor = tensor("grad", grad, kFloating);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_same_dtype(out_tensor, grad_tensor);
        require(num_weights >= 0, "parameter 'num_weights' is negative");
        require_rank(grad_tensor, 1);
        const int64_t width = grad_tensor.shape[grad_tensor.rank - 1];
        require_shape(out_tensor, {num_weights, width});
        std::vector<int64_t> shape = shape_of(indices_tensor);
        shape.push_back(width);
        require_shape(grad_tensor, shape);
        require_one_device({&out_tensor, &grad_tensor, &indices_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, grad_tensor);
        require_disjoint(out_tensor, indices_tensor);
        const Positions rows(indices_tensor, num_weights);
        add_up_rows(out_tensor, grad_tensor, rows, padding_idx, scale_grad_byfreq);
    });
}
