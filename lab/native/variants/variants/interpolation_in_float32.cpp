// Linear interpolation whose positions and weights are float32, as in PyTorch's CUDA kernels: a ratio rounded once, and
// positions as its multiples.
#include <algorithm>
#include <cmath>

#include "../work.h"

namespace diopigen::variants {

namespace {

struct Neighbours {
    int64_t low, high;
    float weight;  // of the high one
};

Neighbours neighbours(int64_t at, int64_t size, int64_t results, bool aligned) {
    float position = 0;
    if (aligned) {
        const float ratio = results > 1 ? static_cast<float>(size - 1) / static_cast<float>(results - 1) : 0;
        position = ratio * static_cast<float>(at);
    } else {
        const float ratio = static_cast<float>(size) / static_cast<float>(results);
        position = std::max(ratio * (static_cast<float>(at) + 0.5F) - 0.5F, 0.0F);
    }
    const int64_t low = std::min(static_cast<int64_t>(position), size - 1);
    return {low, std::min(low + 1, size - 1), position - static_cast<float>(low)};
}

bool compute(Work& work) {
    if (work.call().text("mode").value_or("") != "bilinear" || work.dtype("input") == diopi_dtype_float64) return false;
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        const Dims shape = work.call().tensor("out").shape();
        if (shape.size() != 4) return false;
        const bool aligned = work.number("align_corners") != 0;
        std::vector<T> out;
        for (int64_t i = 0; i < countOf(shape); ++i) {
            const Neighbours y = neighbours(i / shape[3] % shape[2], input.size(2), shape[2], aligned);
            const Neighbours x = neighbours(i % shape[3], input.size(3), shape[3], aligned);
            const int64_t plane = i / shape[3] / shape[2] * input.size(2);
            const auto row = [&](int64_t at) {
                const int64_t first = (plane + at) * input.size(3);
                return (1 - x.weight) * input[first + x.low] + x.weight * input[first + x.high];
            };
            out.push_back((1 - y.weight) * row(y.low) + y.weight * row(y.high));
        }
        return work.write("out", out);
    });
}

const Registration registration("interpolation",
                                {{"interpolation-in-float32", "interpolation computes positions in float32",
                                  named("UpsampleLinear"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
