// IndexSelect, Gather and Embedding. All positions are checked before anything is written. Elements are moved as they
// are, so that every dtype goes the same way.
#include <diopi/functions.h>

#include <algorithm>
#include <cstring>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

void check_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message) {
    for (int64_t i = 0; i < count; ++i) {
        require(index[i].value >= 0 && index[i].value < size, message);
    }
}

void check_tensors(const Tensor& out, const Tensor& input, const Tensor& index) {
    require_same_dtype(out, input);
    require_one_device({&out, &input, &index});
    require_no_overlap(out);
    require_disjoint(out, input);
    require_disjoint(out, index);
}

// Copies blocks of `length` elements: block i of the target is block index[i] of the source.
template <typename T>
void copy_blocks(const T* source, T* target, const Input<Int64>& index, int64_t count, int64_t length) {
    parallel_for(count, row_grain(length), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            std::copy_n(source + index[i].value * length, length, target + i * length);
        }
    });
}

}  // namespace

DIOPI_API diopiError_t diopiIndexSelect(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                        diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiIndexSelect", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        require_rank(index_tensor, 1, 1);
        const int64_t count = index_tensor.numel;
        std::vector<int64_t> shape = shape_of(input_tensor);
        int64_t outer = 1;
        int64_t inner = 1;
        for (int64_t i = 0; i < input_tensor.rank; ++i) {
            (i < at ? outer : inner) *= i == at ? 1 : shape[i];
        }
        const int64_t size = input_tensor.rank == 0 ? 1 : shape[at];
        if (input_tensor.rank > 0) {
            shape[at] = count;
        }
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const Input<Int64> positions(index_tensor);
        check_positions(positions, count, size, "C2: every value of index is in [0, size(input, dim) - 1]");
        dispatch<kAny>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(input_tensor);
            const Output<T> target(out_tensor);
            for (int64_t k = 0; k < outer; ++k) {
                copy_blocks(source.data() + k * size * inner, target.data() + k * count * inner, positions, count,
                            inner);
            }
            target.store();
        });
    });
}

DIOPI_API diopiError_t diopiGather(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiGather", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        const auto as_vector = [](int64_t rank) { return rank == 0 ? 1 : rank; };
        require(as_vector(index_tensor.rank) == as_vector(input_tensor.rank),
                "C2: index has the rank of input, 0-d counting as 1-d");
        const bool is_flat = input_tensor.rank == 0 || index_tensor.rank == 0;
        for (int64_t i = 0; i < index_tensor.rank && !is_flat; ++i) {
            require(i == at || index_tensor.shape[i] <= input_tensor.shape[i],
                    "C3: index is not larger than input in any dimension but dim");
        }
        require_same_shape(out_tensor, index_tensor);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const int64_t size = input_tensor.rank == 0 ? 1 : input_tensor.shape[at];
        const Input<Int64> positions(index_tensor);
        check_positions(positions, index_tensor.numel, size,
                        "C4: every value of index is in [0, size(input, dim) - 1]");
        dispatch<kAny>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Output<T> target(out_tensor);
            const T* source = input_tensor.elements<T>();
            parallel_for(index_tensor.numel, 8192, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    int64_t rest = i;
                    int64_t offset = 0;
                    if (is_flat) {
                        offset = input_tensor.rank == 0 ? 0 : positions[i].value * input_tensor.strides[0];
                    } else {
                        for (int64_t d = index_tensor.rank; d-- > 0;) {
                            const int64_t place = d == at ? positions[i].value : rest % index_tensor.shape[d];
                            offset += place * input_tensor.strides[d];
                            rest /= index_tensor.shape[d];
                        }
                    }
                    std::memcpy(target.data() + i, source + offset, sizeof(T));
                }
            });
            target.store();
        });
    });
}

DIOPI_API diopiError_t diopiEmbedding(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices,
                                      int64_t /*padding_idx*/, bool /*scale_grad_byfreq*/, bool /*sparse*/) {
    return guarded("diopiEmbedding", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor weight_tensor = tensor("weight", weight, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_rank(weight_tensor, 2, 2);
        std::vector<int64_t> shape = shape_of(indices_tensor);
        shape.push_back(weight_tensor.shape[1]);
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, weight_tensor, indices_tensor);
        const Input<Int64> rows(indices_tensor);
        check_positions(rows, indices_tensor.numel, weight_tensor.shape[0],
                        "C1: every value of indices is in [0, V - 1]");
        dispatch<kAny>(weight_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> table(weight_tensor);
            const Output<T> target(out_tensor);
            copy_blocks(table.data(), target.data(), rows, indices_tensor.numel, weight_tensor.shape[1]);
            target.store();
        });
    });
}
