// Unique: distinct elements or slices. Both come sorted in any case, NaN above all numbers and each NaN on its own; of
// equal ones (zeros of both signs) the first is taken.
#include <diopi/functions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_cpu/dense.h"
#include "distinct.h"

using namespace diopi::cpu;

namespace {

// The slices along one dimension, or the elements where there is none.
struct Cut {
    std::vector<int64_t> order;      // of the dimensions of input, the cut one first
    std::vector<int64_t> out_order;  // the same for out
    std::vector<int64_t> positions;  // the shape that `indices` has
    std::vector<int64_t> shape;      // the shape of a slice of out
    int64_t count = 1;
    int64_t length = 1;
};

Cut cut_of(const Tensor& input, const int64_t* dim) {
    Cut cut;
    cut.order.resize(static_cast<size_t>(input.rank));
    std::iota(cut.order.begin(), cut.order.end(), 0);
    cut.count = input.numel;
    cut.positions = dim == nullptr ? shape_of(input) : std::vector<int64_t>{input.numel};
    cut.out_order = {0};
    if (dim == nullptr) {
        return cut;
    }
    const int64_t at = dimension("dim", *dim, input.rank);
    if (input.rank == 0) {
        return cut;
    }
    std::rotate(cut.order.begin(), cut.order.begin() + at, cut.order.begin() + at + 1);
    cut.out_order = cut.order;
    cut.count = input.shape[at];
    cut.positions = {cut.count};
    for (size_t k = 1; k < cut.order.size(); ++k) {
        cut.shape.push_back(input.shape[cut.order[k]]);
        cut.length *= cut.shape.back();
    }
    require(cut.length > 0, "parameter 'input' is empty in a dimension other than 'dim'");
    return cut;
}

}  // namespace

DIOPI_API diopiError_t diopiUnique(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                                   const int64_t* dim, bool /*sorted: they are in any case*/, bool return_counts,
                                   diopiTensorHandle_t indices, diopiTensorHandle_t* counts) {
    return guarded("diopiUnique", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        require(!return_counts || counts != nullptr, "parameter 'counts' is null, although return_counts is true");
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const Tensor indices_tensor = optional_tensor("indices", indices, kIndex);
        const Cut cut = cut_of(input_tensor, dim);
        if (!indices_tensor.is_null()) {
            require_shape(indices_tensor, cut.positions);
            require_one_device({&indices_tensor, &input_tensor});
            require_no_overlap(indices_tensor);
            require_disjoint(indices_tensor, input_tensor);
        }
        const View view = permuted(input_tensor, cut.order);
        const Distinct groups(view.tensor(), cut.count, cut.length, !indices_tensor.is_null());
        std::vector<int64_t> shape(cut.out_order.size(), groups.count());
        for (size_t k = 0; k < cut.shape.size(); ++k) {
            shape[cut.out_order[k + 1]] = cut.shape[k];
        }
        const Tensor result = new_tensor(ctx, "out", shape, input_tensor.dtype, input_tensor);
        const Tensor sizes =
            return_counts ? new_tensor(ctx, "counts", {groups.count()}, Dtype::kInt64, input_tensor) : Tensor{};
        const View target = permuted(result, cut.out_order);
        groups.store_slices(target.tensor(), view.tensor());
        if (!indices_tensor.is_null()) {
            groups.store_groups(indices_tensor);
        }
        if (return_counts) {
            groups.store_sizes(sizes);
            *counts = sizes.handle;
        }
        *out = result.handle;
    });
}
