// Convolution2d: the direct sum over channels and filter positions, in double, row by row of the output.
#include <diopi/functions.h>

#include <algorithm>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "windows.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiConvolution2d(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                          diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                                          diopiSize_t dilation, int64_t groups) {
    return guarded("diopiConvolution2d", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor weight_tensor = tensor("weight", weight, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        require_rank(input_tensor, 4, 4);
        require_rank(weight_tensor, 4, 4);
        constexpr const char* kSteps = "C2: stride and dilation have two entries, all at least 1";
        const Pair step = pair("stride", stride, 1, kSteps);
        const Pair spread = pair("dilation", dilation, 1, kSteps);
        const Pair pad = pair("padding", padding, 0, "C3: padding has two entries, none negative");
        const int64_t batch = input_tensor.shape[0];
        const int64_t channels = input_tensor.shape[1];
        const int64_t filters = weight_tensor.shape[0];
        require(groups >= 1 && channels % groups == 0 && filters % groups == 0,
                "C1: groups is at least 1 and divides both C and K");
        const int64_t depth = channels / groups;
        const Pair size = {input_tensor.shape[2], input_tensor.shape[3]};
        const Pair kernel = {weight_tensor.shape[2], weight_tensor.shape[3]};
        require_shape(weight_tensor, {filters, depth, kernel[0], kernel[1]});
        require_shape(bias_tensor, {filters});
        Pair result_size{};
        for (int k = 0; k < 2; ++k) {
            const int64_t room = size[k] + 2 * pad[k] - spread[k] * (kernel[k] - 1) - 1;
            require(kernel[k] > 0 && room >= 0, "C4: the dilated filter is not larger than the padded input");
            result_size[k] = room / step[k] + 1;
        }
        require_shape(out_tensor, {batch, filters, result_size[0], result_size[1]});
        require_no_overlap(out_tensor);
        for (const Tensor* operand : {&input_tensor, &weight_tensor, &bias_tensor}) {
            require_same_dtype(*operand, out_tensor);
            require_one_device({&out_tensor, operand});
            require_disjoint(out_tensor, *operand);
        }
        dispatch_compute<kFloating>(out_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> w(weight_tensor);
            const Input<T> added(bias_tensor);
            const Output<T> y(out_tensor);
            const int64_t rows = result_size[0];
            const int64_t columns = result_size[1];
            const int64_t per_filter = depth * kernel[0] * kernel[1];
            parallel_for(
                batch * filters, 1 + 65536 / (per_filter * rows * columns + 1), [&](int64_t begin, int64_t end) {
                    std::vector<double> sums(static_cast<size_t>(columns));
                    for (int64_t plane = begin; plane < end; ++plane) {
                        const int64_t image = plane / filters;
                        const int64_t filter = plane % filters;
                        const int64_t first_channel = filter / (filters / groups) * depth;
                        for (int64_t row = 0; row < rows; ++row) {
                            std::fill(sums.begin(), sums.end(), added ? static_cast<double>(added[filter]) : 0.0);
                            for (int64_t c = 0; c < depth; ++c) {
                                const T* image_plane =
                                    x.data() + (image * channels + first_channel + c) * size[0] * size[1];
                                for (int64_t i = 0; i < kernel[0]; ++i) {
                                    const int64_t from = row * step[0] - pad[0] + i * spread[0];
                                    if (from < 0 || from >= size[0]) {
                                        continue;
                                    }
                                    for (int64_t j = 0; j < kernel[1]; ++j) {
                                        const int64_t at = ((filter * depth + c) * kernel[0] + i) * kernel[1] + j;
                                        const auto factor = static_cast<double>(w[at]);
                                        // Columns whose source lies in the image: 0 <= column * step + shift < width.
                                        const int64_t shift = j * spread[1] - pad[1];
                                        const int64_t first = shift >= 0 ? 0 : (-shift + step[1] - 1) / step[1];
                                        const int64_t room = size[1] - shift;
                                        const int64_t last =
                                            std::min(columns, room <= 0 ? 0 : (room - 1) / step[1] + 1);
                                        const T* source = image_plane + from * size[1] + shift;
                                        for (int64_t column = first; column < last; ++column) {
                                            sums[column] += factor * source[column * step[1]];
                                        }
                                    }
                                }
                            }
                            T* target = y.data() + (plane * rows + row) * columns;
                            std::transform(sums.begin(), sums.end(), target,
                                           [](double sum) { return static_cast<T>(sum); });
                        }
                    }
                });
            y.store();
        });
    });
}
