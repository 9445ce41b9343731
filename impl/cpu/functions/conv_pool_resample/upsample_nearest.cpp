// UpsampleNearest, forward and backward.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "kernels.h"
#include "resize.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kCopied = kFloating | kUint8;

// The element of `from` that each of `to` is a copy of, per dimension. PyTorch takes the product of position and ratio
// in float, except for the forward call of doubles, which rounds it to float.
template <typename Ratio>
Sources sources(const Resize& resize) {
    Sources found;
    for (int k = 0; k < kSpace; ++k) {
        const Ratio ratio = static_cast<Ratio>(resize.from[k]) / static_cast<Ratio>(resize.to[k]);
        for (int64_t i = 0; i < resize.to[k]; ++i) {
            const auto position = static_cast<float>(static_cast<Ratio>(i) * ratio);
            found[k].push_back(std::min(static_cast<int64_t>(std::floor(position)), resize.from[k] - 1));
        }
    }
    return found;
}

}  // namespace

DIOPI_API diopiError_t diopiUpsampleNearest(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, diopiSize_t size) {
    return guarded("diopiUpsampleNearest", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kCopied);
        const Tensor input_tensor = tensor("input", input, kCopied);
        require(input_tensor.rank >= 3 && input_tensor.rank <= 5,
                "C1: parameter 'input' must have 3, 4 or 5 dimensions");
        const Resize resize = resize_of(out_tensor, input_tensor, size, "C2",
                                        "C1: parameter 'input' must have elements in all dimensions but the first");
        if (out_tensor.numel == 0) {
            return;
        }
        const Sources source = input_tensor.dtype == Dtype::kFloat64 ? sources<double>(resize) : sources<float>(resize);
        copy_nearest(out_tensor, input_tensor, resize, source);
    });
}

DIOPI_API diopiError_t diopiUpsampleNearestBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                    diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                                    diopiSize_t in_size) {
    return guarded("diopiUpsampleNearestBackward", ctx, [&] {
        const Tensor gradient = tensor("grad_input", grad_input, kFloating);
        const Tensor arriving = tensor("grad_output", grad_output, kFloating);
        require_sizes("in_size", in_size);
        require(in_size.len >= 3 && in_size.len <= 5, "C1: parameter 'in_size' must have 3, 4 or 5 entries");
        const Resize resize = resize_backward(gradient, arriving, out_size, in_size, "C1");
        if (gradient.numel == 0) {
            return;
        }
        const Sources source = sources<float>(resize);
        add_nearest(gradient, arriving, resize, source);
    });
}
