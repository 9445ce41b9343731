// Im2Col and Col2Im.
#include <diopi/functions.h>

#include <algorithm>

#include "diopi_cpu/dense.h"
#include "kernels.h"
#include "unfold.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kUnfolded = kFloating | kComplex | kBool;
constexpr DtypeSet kFolded = kFloating | kComplex;

Sliding sliding_over(const Triple& size, const Window& window) {
    Sliding sliding{window, size, {}};
    for (int k = 0; k < kSpace; ++k) {
        sliding.positions[k] = window.count(k, size[k]);
    }
    return sliding;
}

}  // namespace

DIOPI_API diopiError_t diopiIm2Col(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiSize_t kernel_size, diopiSize_t dilation, diopiSize_t padding,
                                   diopiSize_t stride) {
    return guarded("diopiIm2Col", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kUnfolded);
        const Tensor input_tensor = tensor("input", input, kUnfolded);
        require_planes(input_tensor, 4);
        const Window window{entries("C2", "kernel_size", kernel_size, 2, 1, 1),
                            entries("C2", "stride", stride, 2, 1, 1), entries("C3", "padding", padding, 2, 0, 0),
                            entries("C2", "dilation", dilation, 2, 1, 1)};
        const Sliding sliding = sliding_over(space_of(input_tensor, 2), window);
        const int64_t positions = checked_product("padding", {sliding.positions[1], sliding.positions[2]});
        require(positions > 0, "C4: parameter 'kernel_size': at least one window must fit into the padded input");
        const int64_t channels = input_tensor.shape[input_tensor.rank - 3];
        std::vector<int64_t> shape(input_tensor.shape, input_tensor.shape + input_tensor.rank - 3);
        shape.insert(shape.end(),
                     {checked_product("kernel_size", {channels, window.kernel[1], window.kernel[2]}), positions});
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_operands(out_tensor, {&input_tensor});
        unfold_images(out_tensor, input_tensor, sliding, channels);
    });
}

DIOPI_API diopiError_t diopiCol2Im(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiSize_t output_size, diopiSize_t kernel_size, diopiSize_t dilation,
                                   diopiSize_t padding, diopiSize_t stride) {
    return guarded("diopiCol2Im", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFolded);
        const Tensor input_tensor = tensor("input", input, kFolded);
        require_planes(input_tensor, 3);
        const Window window{entries("C3", "kernel_size", kernel_size, 2, 1, 1),
                            entries("C3", "stride", stride, 2, 1, 1), entries("C4", "padding", padding, 2, 0, 0),
                            entries("C3", "dilation", dilation, 2, 1, 1)};
        const Sliding sliding = sliding_over(entries("C3", "output_size", output_size, 2, 1, 1), window);
        const int64_t elements = input_tensor.shape[input_tensor.rank - 2];
        const int64_t channels = elements / volume(window.kernel);
        require(channels * volume(window.kernel) == elements,
                "C2: parameter 'input': the window of kernel_size must divide the number of elements per column");
        std::vector<int64_t> columns = shape_of(input_tensor);
        columns.back() = checked_product("output_size", {sliding.positions[1], sliding.positions[2]});
        require_shape(input_tensor, columns);
        std::vector<int64_t> shape(input_tensor.shape, input_tensor.shape + input_tensor.rank - 2);
        shape.insert(shape.end(), {channels, sliding.size[1], sliding.size[2]});
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_operands(out_tensor, {&input_tensor});
        fold_images(out_tensor, input_tensor, sliding, channels, elements);
    });
}
