// AvgPool2d, MaxPool2d and AdaptiveAvgPool2d.
#include <diopi/functions.h>

#include <algorithm>
#include <limits>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/math.h"
#include "diopi_cpu/threads.h"
#include "windows.h"

using namespace diopi::cpu;

namespace {

constexpr const char* kRank = "C1: input has 3 or 4 dimensions, and only the batch may be empty";

// Checks that pooling operators share; `windows` is the size of the result.
void check(const Tensor& out, const Tensor& input, const Pair& windows) {
    std::vector<int64_t> shape = shape_of(input);
    shape[input.rank - 2] = windows[0];
    shape[input.rank - 1] = windows[1];
    require_same_dtype(out, input);
    require_shape(out, shape);
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_disjoint(out, input);
}

void check_input(const Tensor& input) {
    require(input.rank == 3 || input.rank == 4, kRank);
    for (int64_t i = input.rank - 3; i < input.rank; ++i) {
        require(input.shape[i] > 0, kRank);
    }
}

// Calls `window(plane, row, column)` for every window of every plane, and puts the results in order.
template <typename T, typename Window>
void pool(const Tensor& out, const Tensor& input, const Pair& windows, Window&& window) {
    const int64_t height = input.shape[input.rank - 2];
    const int64_t width = input.shape[input.rank - 1];
    const Input<T> x(input);
    const Output<T> y(out);
    const int64_t area = windows[0] * windows[1];
    const int64_t planes = input.numel / (height * width);
    parallel_for(planes, 1 + 4096 / (area + 1), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
            for (int64_t i = 0; i < area; ++i) {
                y[plane * area + i] = window(x.data() + plane * height * width, i / windows[1], i % windows[1]);
            }
        }
    });
    y.store();
}

}  // namespace

DIOPI_API diopiError_t diopiAvgPool2d(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                                      diopiSize_t padding, bool ceil_mode, bool count_include_pad,
                                      const int64_t* divisor_override) {
    return guarded("diopiAvgPool2d", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        constexpr const char* kWindow =
            "C2: kernel_size has two entries, all at least 1, and stride too unless it has none";
        constexpr const char* kPadding = "C3: padding has two entries, none negative or above half of the window";
        check_input(input_tensor);
        const Pair kernel = pair("kernel_size", kernel_size, 1, kWindow);
        const Pair step = stride.len == 0 ? kernel : pair("stride", stride, 1, kWindow);
        const Pair pad = pair("padding", padding, 0, kPadding);
        const Pair size = {input_tensor.shape[input_tensor.rank - 2], input_tensor.shape[input_tensor.rank - 1]};
        Pair windows{};
        for (int k = 0; k < 2; ++k) {
            require(2 * pad[k] <= kernel[k], kPadding);
            windows[k] = window_count(size[k], kernel[k], step[k], pad[k], ceil_mode);
            require(windows[k] > 0, "C4: at least one window fits into the padded input");
        }
        require(divisor_override == nullptr || *divisor_override != 0, "C5: divisor_override is null or not 0");
        check(out_tensor, input_tensor, windows);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            pool<T>(out_tensor, input_tensor, windows, [&](const T* plane, int64_t row, int64_t column) {
                const int64_t top = row * step[0] - pad[0];
                const int64_t left = column * step[1] - pad[1];
                const int64_t bottom = std::min(top + kernel[0], size[0] + pad[0]);
                const int64_t right = std::min(left + kernel[1], size[1] + pad[1]);
                const int64_t padded_area = (bottom - top) * (right - left);
                const int64_t first_row = std::max<int64_t>(top, 0);
                const int64_t last_row = std::min(bottom, size[0]);
                const int64_t first_column = std::max<int64_t>(left, 0);
                const int64_t last_column = std::min(right, size[1]);
                double sum = 0;
                for (int64_t i = first_row; i < last_row; ++i) {
                    for (int64_t j = first_column; j < last_column; ++j) {
                        sum += plane[i * size[1] + j];
                    }
                }
                const int64_t area =
                    std::max<int64_t>(last_row - first_row, 0) * std::max<int64_t>(last_column - first_column, 0);
                const int64_t divisor = divisor_override != nullptr ? *divisor_override
                                        : count_include_pad         ? padded_area
                                                                    : area;
                return area == 0 ? T(0) : static_cast<T>(sum / static_cast<double>(divisor));
            });
        });
    });
}

DIOPI_API diopiError_t diopiMaxPool2d(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride,
                                      diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool2d", [&] {
        const Tensor out_tensor = tensor("out", out, kNumber);
        const Tensor input_tensor = tensor("input", input, kNumber);
        constexpr const char* kWindow =
            "C2: kernel_size and dilation have two entries, all at least 1, and stride too unless it has none";
        constexpr const char* kPadding =
            "C3: padding has two entries, none negative or above half of the dilated window";
        check_input(input_tensor);
        const Pair kernel = pair("kernel_size", kernel_size, 1, kWindow);
        const Pair spread = pair("dilation", dilation, 1, kWindow);
        const Pair step = stride.len == 0 ? kernel : pair("stride", stride, 1, kWindow);
        const Pair pad = pair("padding", padding, 0, kPadding);
        const Pair size = {input_tensor.shape[input_tensor.rank - 2], input_tensor.shape[input_tensor.rank - 1]};
        Pair windows{};
        for (int k = 0; k < 2; ++k) {
            const int64_t extent = spread[k] * (kernel[k] - 1) + 1;
            require(2 * pad[k] <= extent, kPadding);
            windows[k] = window_count(size[k], extent, step[k], pad[k], ceil_mode);
            require(windows[k] > 0, "C4: at least one window fits into the padded input");
        }
        check(out_tensor, input_tensor, windows);
        dispatch_compute<kNumber>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            pool<T>(out_tensor, input_tensor, windows, [&](const T* plane, int64_t row, int64_t column) {
                T largest = lowest<T>();
                for (int64_t i = 0; i < kernel[0]; ++i) {
                    const int64_t y = row * step[0] - pad[0] + i * spread[0];
                    for (int64_t j = 0; j < kernel[1] && y >= 0 && y < size[0]; ++j) {
                        const int64_t x = column * step[1] - pad[1] + j * spread[1];
                        if (x >= 0 && x < size[1]) {
                            largest = maximum(largest, plane[y * size[1] + x]);
                        }
                    }
                }
                return largest;
            });
        });
    });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveAvgPool2d", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        check_input(input_tensor);
        const Pair windows = pair("output_size", output_size, 0, "C2: output_size has two entries, none negative");
        const Pair size = {input_tensor.shape[input_tensor.rank - 2], input_tensor.shape[input_tensor.rank - 1]};
        check(out_tensor, input_tensor, windows);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const auto first = [&](int k, int64_t i) { return i * size[k] / windows[k]; };
            const auto last = [&](int k, int64_t i) { return ((i + 1) * size[k] + windows[k] - 1) / windows[k]; };
            pool<T>(out_tensor, input_tensor, windows, [&](const T* plane, int64_t row, int64_t column) {
                double sum = 0;
                for (int64_t i = first(0, row); i < last(0, row); ++i) {
                    for (int64_t j = first(1, column); j < last(1, column); ++j) {
                        sum += plane[i * size[1] + j];
                    }
                }
                const int64_t area = (last(0, row) - first(0, row)) * (last(1, column) - first(1, column));
                return static_cast<T>(sum / static_cast<double>(area));
            });
        });
    });
}
