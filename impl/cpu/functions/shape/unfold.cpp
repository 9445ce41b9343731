// Unfold, a copy of overlapping views, and its gradient, a sum over them.
#include <diopi/functions.h>

#include "diopi_cpu/words.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

// The windows along one dimension of a shape.
struct Windows {
    Windows(const std::vector<int64_t>& input, int64_t dim, int64_t size, int64_t step)
        : at(dimension("dim", dim, static_cast<int64_t>(input.size()))) {
        const int64_t length = input.empty() ? 1 : input[static_cast<size_t>(at)];
        require(size >= 0 && size <= length, "parameter 'size' is negative or larger than the dimension");
        require(step >= 1, "parameter 'step' is less than 1");
        count = (length - size) / step + 1;
        shape = input;
        if (!input.empty()) {
            shape[static_cast<size_t>(at)] = count;
        }
        shape.push_back(size);
    }

    int64_t at;
    int64_t count = 1;
    std::vector<int64_t> shape;
};

}  // namespace

DIOPI_API diopiError_t diopiUnfold(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   int64_t dim, int64_t size, int64_t step) {
    return guarded("diopiUnfold", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Windows windows(shape_of(input_tensor), dim, size, step);
        std::vector<int64_t> strides(input_tensor.strides, input_tensor.strides + input_tensor.rank);
        strides.push_back(strides.empty() ? 1 : strides[static_cast<size_t>(windows.at)]);
        if (input_tensor.rank > 0 && windows.count > 1) {
            strides[static_cast<size_t>(windows.at)] *= step;
        }
        const View view(input_tensor, windows.shape, std::move(strides));
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, windows.shape);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        copy_elements(out_tensor, view.tensor());
    });
}

DIOPI_API diopiError_t diopiUnfoldBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiSize_t input_sizes, int64_t dim,
                                           int64_t size, int64_t step) {
    return guarded("diopiUnfoldBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad_output", grad_output, kFloating | kComplex);
        require_same_dtype(result, gradient);
        require_sizes("input_sizes", input_sizes);
        require_shape(result, input_sizes);
        const Windows windows(shape_of(result), dim, size, step);
        require_shape(gradient, windows.shape);
        require_one_device({&result, &gradient});
        require_no_overlap(result);
        require_disjoint(result, gradient);
        const Around place = around(shape_at_least_1d(result), windows.at);
        add_up_windows(result, gradient, place, windows.count, size, step);
    });
}
