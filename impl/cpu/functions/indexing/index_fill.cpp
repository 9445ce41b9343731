// IndexFill: slices at given positions set to one value, given as a number or as a 0-d tensor.
#include <diopi/functions.h>

#include "kernels.h"
#include "positions.h"

using namespace diopi::cpu;

namespace {

// target = input, then `fill` sets the slices at `index`. In place where both are the same.
template <typename Fill>
void fill_slices(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Fill& fill) {
    require_same_dtype(target, input);
    require_same_shape(target, input);
    const int64_t at = dimension("dim", dim, input.rank);
    require(index.rank <= 1, "index.rank: index has at most 1 dimension");
    const Around place = around(shape_at_least_1d(input), at);
    require_one_device({&target, &input, &index});
    require_no_overlap(target);
    require_no_overlap(target, input);
    require_disjoint(target, index);
    const Positions positions(index, place.size, Negative::kFromEnd);
    fill(positions, place);
}

void fill_slices(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Number& value) {
    fill_slices(target, input, dim, index, [&](const Positions& positions, const Around& place) {
        fill_slices_at(target, input, positions, place, value);
    });
}

void fill_slices(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& value) {
    require_shape(value, std::vector<int64_t>{});
    require_one_device({&target, &value});
    require_disjoint(target, value);
    fill_slices(target, input, dim, index, [&](const Positions& positions, const Around& place) {
        fill_slices_with(target, input, positions, place, value);
    });
}

}  // namespace

DIOPI_API diopiError_t diopiIndexFillScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index,
                                            const diopiScalar_t* value) {
    return guarded("diopiIndexFillScalar", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(out_tensor, input_tensor, dim, index_tensor, scalar("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFillInpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t input, int64_t dim,
                                               diopiConstTensorHandle_t index, const diopiScalar_t* value) {
    return guarded("diopiIndexFillInpScalar", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(input_tensor, input_tensor, dim, index_tensor, scalar("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFill(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      int64_t dim, diopiConstTensorHandle_t index, diopiConstTensorHandle_t value) {
    return guarded("diopiIndexFill", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(out_tensor, input_tensor, dim, index_tensor, tensor("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFillInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, int64_t dim,
                                         diopiConstTensorHandle_t index, diopiConstTensorHandle_t value) {
    return guarded("diopiIndexFillInp", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(input_tensor, input_tensor, dim, index_tensor, tensor("value", value, kNumber | kBool));
    });
}
