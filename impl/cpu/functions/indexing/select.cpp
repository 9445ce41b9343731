// IndexSelect, Gather and Embedding. All positions are checked before anything is written. Elements are moved as they
// are, so that every dtype goes the same way.
#include <diopi/functions.h>

#include <algorithm>
#include <atomic>

#include "kernels.h"
#include "places.h"
#include "positions.h"

using namespace diopi::cpu;

namespace {

void check_tensors(const Tensor& out, const Tensor& input, const Tensor& index) {
    require_same_dtype(out, input);
    require_one_device({&out, &input, &index});
    require_no_overlap(out);
    require_disjoint(out, input);
    require_disjoint(out, index);
}

}  // namespace

DIOPI_API diopiError_t diopiIndexSelect(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                        diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiIndexSelect", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        const int64_t count = index_tensor.numel;
        require(index_tensor.rank <= 1 && (input_tensor.rank > 0 || count == 1),
                "C3: index has at most one dimension, and one element where input is 0-d");
        std::vector<int64_t> shape = shape_of(input_tensor);
        const Around place = around(shape_at_least_1d(input_tensor), at);
        if (input_tensor.rank > 0) {
            shape[at] = count;
        }
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const Input<Int64> positions(index_tensor);
        require_positions(positions, count, place.size, "C2: every value of index is in [0, size(input, dim) - 1]");
        pick(out_tensor, input_tensor, positions, count, place);
    });
}

DIOPI_API diopiError_t diopiGather(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiGather", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        const auto as_vector = [](int64_t rank) { return rank == 0 ? 1 : rank; };
        const bool is_empty = index_tensor.numel == 0;
        require(is_empty || as_vector(index_tensor.rank) == as_vector(input_tensor.rank),
                "C2: index has the rank of input, 0-d counting as 1-d, where index has elements");
        const bool is_flat = input_tensor.rank == 0 || index_tensor.rank == 0;
        for (int64_t i = 0; i < index_tensor.rank && !is_flat && !is_empty; ++i) {
            require(i == at || index_tensor.shape[i] <= input_tensor.shape[i],
                    "C3: index is not larger than input in any dimension but dim");
        }
        require_same_shape(out_tensor, index_tensor);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const int64_t size = input_tensor.rank == 0 ? 1 : input_tensor.shape[at];
        const Input<Int64> positions(index_tensor);
        require_positions(positions, index_tensor.numel, size,
                          "C4: every value of index is in [0, size(input, dim) - 1]");
        if (index_tensor.numel == 0) {
            return;
        }
        gather_elements(out_tensor, input_tensor, positions, index_tensor, at);
    });
}

DIOPI_API diopiError_t diopiEmbedding(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices,
                                      int64_t /*padding_idx*/, bool /*scale_grad_byfreq*/, bool /*sparse*/) {
    return guarded("diopiEmbedding", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor weight_tensor = tensor("weight", weight, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_rank(weight_tensor, 2, 2);
        std::vector<int64_t> shape = shape_of(indices_tensor);
        shape.push_back(weight_tensor.shape[1]);
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, weight_tensor, indices_tensor);
        const Input<Int64> rows(indices_tensor);
        require_positions(rows, indices_tensor.numel, weight_tensor.shape[0],
                          "C1: every value of indices is in [0, V - 1]");
        pick(out_tensor, weight_tensor, rows, indices_tensor.numel,
             {1, weight_tensor.shape[0], weight_tensor.shape[1]});
    });
}
