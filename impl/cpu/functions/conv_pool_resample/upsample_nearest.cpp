// UpsampleNearest, forward and backward.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "resize.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kCopied = kFloating | kUint8;

// The element of `from` that each of `to` is a copy of, per dimension. PyTorch takes the product of position and ratio
// in float, except for the forward call of doubles, which rounds it to float.
template <typename Ratio>
std::array<std::vector<int64_t>, kSpace> sources(const Resize& resize) {
    std::array<std::vector<int64_t>, kSpace> found;
    for (int k = 0; k < kSpace; ++k) {
        const Ratio ratio = static_cast<Ratio>(resize.from[k]) / static_cast<Ratio>(resize.to[k]);
        for (int64_t i = 0; i < resize.to[k]; ++i) {
            const auto position = static_cast<float>(static_cast<Ratio>(i) * ratio);
            found[k].push_back(std::min(static_cast<int64_t>(std::floor(position)), resize.from[k] - 1));
        }
    }
    return found;
}

// Calls `visit(to, from)` for the elements of one plane.
template <typename Visit>
void for_each_copy(const Resize& resize, const std::array<std::vector<int64_t>, kSpace>& source, Visit&& visit) {
    int64_t to = 0;
    for (const int64_t z : source[0]) {
        for (const int64_t y : source[1]) {
            const int64_t row = (z * resize.from[1] + y) * resize.from[2];
            for (const int64_t x : source[2]) {
                visit(to++, row + x);
            }
        }
    }
}

}  // namespace

DIOPI_API diopiError_t diopiUpsampleNearest(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, diopiSize_t size) {
    return guarded("diopiUpsampleNearest", [&] {
        const Tensor out_tensor = tensor("out", out, kCopied);
        const Tensor input_tensor = tensor("input", input, kCopied);
        require(input_tensor.rank >= 3 && input_tensor.rank <= 5,
                "C1: parameter 'input' must have 3, 4 or 5 dimensions");
        const Resize resize = resize_of(out_tensor, input_tensor, size, "C2",
                                        "C1: parameter 'input' must have elements in all dimensions but the first");
        if (out_tensor.numel == 0) {
            return;
        }
        dispatch<kCopied>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Output<T> y(out_tensor);
            const auto source = sources<std::conditional_t<std::is_same_v<T, double>, double, float>>(resize);
            parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
                for (int64_t plane = begin; plane < end; ++plane) {
                    const T* from = x.data() + plane * volume(resize.from);
                    T* to = y.data() + plane * volume(resize.to);
                    for_each_copy(resize, source, [&](int64_t i, int64_t j) { to[i] = from[j]; });
                }
            });
            y.store();
        });
    });
}

DIOPI_API diopiError_t diopiUpsampleNearestBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                    diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                                    diopiSize_t in_size) {
    return guarded("diopiUpsampleNearestBackward", [&] {
        const Tensor gradient = tensor("grad_input", grad_input, kFloating);
        const Tensor arriving = tensor("grad_output", grad_output, kFloating);
        require_sizes("in_size", in_size);
        require(in_size.len >= 3 && in_size.len <= 5, "C1: parameter 'in_size' must have 3, 4 or 5 entries");
        const Resize resize = resize_backward(gradient, arriving, out_size, in_size, "C1");
        if (gradient.numel == 0) {
            return;
        }
        dispatch_compute<kFloating>(arriving.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> y(arriving);
            const Output<T> x(gradient);
            const auto source = sources<float>(resize);
            parallel_for(resize.planes, resize.grain(), [&](int64_t begin, int64_t end) {
                for (int64_t plane = begin; plane < end; ++plane) {
                    T* to = x.data() + plane * volume(resize.from);
                    const T* from = y.data() + plane * volume(resize.to);
                    std::fill_n(to, volume(resize.from), T(0));
                    for_each_copy(resize, source, [&](int64_t i, int64_t j) { to[j] += from[i]; });
                }
            });
            x.store();
        });
    });
}
