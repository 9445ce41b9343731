// Cat and Stack: each part is copied, with a cast, into its slice of the result.
#include <diopi/functions.h>

#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/promotion.h"

using namespace diopi::cpu;

namespace {

std::vector<Tensor> parts_of(const char* count_rule, diopiConstTensorHandle_t* tensors, int64_t count) {
    require(count >= 1, count_rule);
    require(tensors != nullptr, "parameter 'tensors' is null");
    std::vector<Tensor> parts;
    for (int64_t k = 0; k < count; ++k) {
        parts.push_back(tensor("tensors", tensors[k], kAny));
    }
    return parts;
}

void check(const Tensor& out, const std::vector<Tensor>& parts) {
    // All parts are 0-d or none is, so that each has a say in the dtype.
    Dtype promoted = parts.front().dtype;
    for (const Tensor& part : parts) {
        promoted = promote(promoted, part.dtype);
    }
    require_castable(out, promoted);
    require_no_overlap(out);
    for (const Tensor& part : parts) {
        require_disjoint(out, part);
        require_one_device({&out, &part});
    }
}

}  // namespace

DIOPI_API diopiError_t diopiCat(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                                int64_t num_inputs, int64_t dim) {
    return guarded("diopiCat", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        std::vector<Tensor> parts = parts_of("C3: num_inputs is at least 1", tensors, num_inputs);
        const Tensor* like = &parts[0];
        for (const Tensor& part : parts) {
            require(part.rank >= 1, "tensors.rank: each of tensors has at least 1 dimension");
            if (part.rank > 1 || part.numel > 0) {
                like = like->rank == 1 && like->numel == 0 ? &part : like;
            }
        }
        const int64_t at = dimension("dim", dim, like->rank);
        std::vector<int64_t> shape = shape_of(*like);
        shape[at] = 0;
        for (const Tensor& part : parts) {
            if (part.rank == 1 && part.numel == 0) {
                continue;
            }
            std::vector<int64_t> own = shape_of(part);
            require(part.rank == like->rank, "parameter 'tensors' holds tensors of different rank");
            shape[at] += own[at];
            own[at] = shape[at];
            require(own == shape, "parameter 'tensors' holds tensors that differ outside dim");
        }
        require_shape(out_tensor, shape);
        check(out_tensor, parts);
        int64_t start = 0;
        for (const Tensor& part : parts) {
            if (part.numel == 0) {
                continue;
            }
            const View slice(out_tensor, shape_of(part), {out_tensor.strides, out_tensor.strides + out_tensor.rank},
                             start * out_tensor.strides[at]);
            copy_elements(slice.tensor(), part);
            start += part.shape[at];
        }
    });
}

DIOPI_API diopiError_t diopiStack(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                                  int64_t numTensors, int64_t dim) {
    return guarded("diopiStack", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const std::vector<Tensor> parts = parts_of("C2: numTensors is at least 1", tensors, numTensors);
        const int64_t at = dimension("dim", dim, parts[0].rank + 1);
        std::vector<int64_t> shape = shape_of(parts[0]);
        for (const Tensor& part : parts) {
            require(is_same_shape(part, parts[0]), "parameter 'tensors' holds tensors of different shape");
        }
        shape.insert(shape.begin() + at, numTensors);
        require_shape(out_tensor, shape);
        check(out_tensor, parts);
        std::vector<int64_t> strides(out_tensor.strides, out_tensor.strides + out_tensor.rank);
        strides.erase(strides.begin() + at);
        for (int64_t k = 0; k < numTensors; ++k) {
            const View slice(out_tensor, shape_of(parts[k]), strides, k * out_tensor.strides[at]);
            copy_elements(slice.tensor(), parts[k]);
        }
    });
}
