// Normalize and its gradient: vectors along one dimension over their p-norm, in double.
#include <diopi/functions.h>

#include <limits>

#include "kernels.h"
#include "norm.h"

using namespace diopi::cpu;

namespace {

// Dimensions with `axis` last.
std::vector<int64_t> axis_last(const Tensor& input, int64_t axis) {
    require(axis >= -input.rank && axis < input.rank,
            "axis.dim_of: axis is in [-rank(input), rank(input) - 1], a 0-d input counting as 1-d");
    const int64_t last = axis < 0 ? axis + input.rank : axis;
    std::vector<int64_t> order;
    for (int64_t i = 0; i < input.rank; ++i) {
        if (i != last) {
            order.push_back(i);
        }
    }
    order.push_back(last);
    return order;
}

}  // namespace

DIOPI_API diopiError_t diopiNormalize(diopiContextHandle_t ctx, diopiTensorHandle_t output,
                                      diopiConstTensorHandle_t input, const float p, const int64_t axis,
                                      const double eps) {
    return guarded("diopiNormalize", ctx, [&] {
        const Tensor out_tensor = tensor("output", output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const std::vector<int64_t> order = axis_last(input_tensor, axis);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_no_overlap(out_tensor, input_tensor);
        const View from = permuted(input_tensor, order);
        const View to = permuted(out_tensor, order);
        const int64_t length = input_tensor.shape[order.back()];
        normalise_by_norm(to.tensor(), from.tensor(), length, p, eps);
    });
}

DIOPI_API diopiError_t diopiNormalizeBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              const float p, const int64_t axis, const double eps) {
    return guarded("diopiNormalizeBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const std::vector<int64_t> order = axis_last(input_tensor, axis);
        for (const Tensor* same : {&gradient_tensor, &incoming_tensor}) {
            require_same_dtype(*same, input_tensor);
            require_same_shape(*same, input_tensor);
        }
        require_separate({&gradient_tensor}, {&incoming_tensor, &input_tensor});
        const View x_view = permuted(input_tensor, order);
        const View incoming_view = permuted(incoming_tensor, order);
        const View gradient_view = permuted(gradient_tensor, order);
        const int64_t length = input_tensor.shape[order.back()];
        gradients_through_norm(gradient_view.tensor(), incoming_view.tensor(), x_view.tensor(), length, p, eps);
    });
}
