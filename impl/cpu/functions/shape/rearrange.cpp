// Permute, Transpose, Flip and Repeat: copies of a view.
#include <diopi/functions.h>

#include <numeric>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

void copy_view(const Tensor& out, const Tensor& input, const View& view) {
    require_same_dtype(out, input);
    require_shape(out, shape_of(view.tensor()));
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_disjoint(out, input);
    copy_elements(out, view.tensor());
}

}  // namespace

DIOPI_API diopiError_t diopiPermute(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiSize_t dims) {
    return guarded("diopiPermute", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        require_sizes("dims", dims);
        require(dims.len == input_tensor.rank, "C2: dims names every dimension of input once");
        std::vector<int64_t> order;
        std::vector<bool> is_used(static_cast<size_t>(dims.len), false);
        for (int64_t i = 0; i < dims.len; ++i) {
            order.push_back(dimension("dims", dims.data[i], input_tensor.rank));
            require(!is_used[order.back()], "C2: dims names every dimension of input once");
            is_used[order.back()] = true;
        }
        copy_view(out_tensor, input_tensor, permuted(input_tensor, order));
    });
}

DIOPI_API diopiError_t diopiTranspose(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      int64_t dim0, int64_t dim1) {
    return guarded("diopiTranspose", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const int64_t first = dimension("dim0", dim0, input_tensor.rank);
        const int64_t second = dimension("dim1", dim1, input_tensor.rank);
        std::vector<int64_t> order(static_cast<size_t>(input_tensor.rank));
        std::iota(order.begin(), order.end(), 0);
        if (input_tensor.rank > 0) {
            std::swap(order[first], order[second]);
        }
        copy_view(out_tensor, input_tensor, permuted(input_tensor, order));
    });
}

DIOPI_API diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t dims) {
    return guarded("diopiFlip", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        std::vector<int64_t> strides(input_tensor.strides, input_tensor.strides + input_tensor.rank);
        int64_t offset = 0;
        if (require_sizes("dims", dims).len > 0) {
            for (const int64_t dim : rows_over(input_tensor, "dims", dims).reduced) {
                offset += (input_tensor.shape[dim] - 1) * strides[dim];
                strides[dim] = -strides[dim];
            }
        }
        copy_view(out_tensor, input_tensor,
                  View(input_tensor, shape_of(input_tensor), strides, input_tensor.numel > 0 ? offset : 0));
    });
}

DIOPI_API diopiError_t diopiRepeat(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiSize_t repeats_size) {
    return guarded("diopiRepeat", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        require_sizes("repeats_size", repeats_size);
        const int64_t extra = repeats_size.len - input_tensor.rank;
        require(extra >= 0, "repeats_size.length: repeats_size has at least rank(input) entries");
        // Every dimension becomes two, tiles by elements; those of the input have no step along the tiles.
        std::vector<int64_t> shape;
        std::vector<int64_t> tiled_shape;
        std::vector<int64_t> from_strides;
        std::vector<int64_t> to_strides;
        for (int64_t i = 0; i < repeats_size.len; ++i) {
            require(repeats_size.data[i] >= 0, "repeats_size.range: every entry of repeats_size is at least 0");
            const int64_t size = i < extra ? 1 : input_tensor.shape[i - extra];
            shape.push_back(repeats_size.data[i] * size);
        }
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        for (int64_t i = 0; i < repeats_size.len; ++i) {
            const int64_t size = i < extra ? 1 : input_tensor.shape[i - extra];
            tiled_shape.insert(tiled_shape.end(), {repeats_size.data[i], size});
            from_strides.insert(from_strides.end(), {0, i < extra ? 0 : input_tensor.strides[i - extra]});
            to_strides.insert(to_strides.end(), {size * out_tensor.strides[i], out_tensor.strides[i]});
        }
        require(tiled_shape.size() <= static_cast<size_t>(kMaxRank), "parameter 'repeats_size' has too many entries");
        const View tiles(input_tensor, tiled_shape, from_strides);
        const View target(out_tensor, tiled_shape, to_strides);
        copy_elements(target.tensor(), tiles.tensor());
    });
}
