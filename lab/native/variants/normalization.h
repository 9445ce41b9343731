// Mean and variance of rows by an algorithm of their own, and the norms that use them.
#pragma once

#include <cmath>
#include <string>

#include "groups.h"

namespace diopigen::variants {

template <typename T>
struct Moments {
    T mean = 0, variance = 0;  // the variance divides by the number of elements
};

// LayerNorm, GroupNorm and BatchNormStats, the moments by `moments` of a row, the inverse deviation by `inverse`.
template <typename MomentsOf, typename Inverse>
bool normalize(Work& work, const MomentsOf& momentsOf, const Inverse& inverse) {
    const std::string name = work.call().function();
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input"), weight = work.read<T>("weight"), bias = work.read<T>("bias");
        if (input.count() == 0) return false;
        // Rows of the input, and how many elements behind one another share a weight.
        Groups rows;
        int64_t channels = 1, inner = 1;
        if (name == "LayerNorm") {
            channels = countOf(work.call().sizes("normalized_shape"));
            rows = groupsOf({input.count() / channels, channels}, {1});
        } else if (name == "GroupNorm") {
            const int64_t groups = work.integer("num_groups", 1) * input.size(0);
            channels = input.size(1);
            inner = input.count() / input.size(0) / channels;
            rows = groupsOf({groups, input.count() / groups}, {1});
        } else {
            rows = groupsOf({input.size(0), input.size(1), input.count() / input.size(0) / input.size(1)}, {0, 2});
        }
        const T eps = static_cast<T>(work.number("eps"));
        std::vector<T> out(input.values.size()), means, inverses;
        for (const auto& row : rows) {
            const Moments<T> moments = momentsOf(taken(input, row));
            means.push_back(moments.mean);
            inverses.push_back(inverse(moments.variance + eps));
            for (const int64_t i : row) {
                const int64_t channel = i / inner % channels;
                const T centred = (input[i] - moments.mean) * inverses.back();
                out[static_cast<size_t>(i)] =
                    centred * (weight.count() > 0 ? weight[channel] : T(1)) + (bias.count() > 0 ? bias[channel] : T(0));
            }
        }
        if (name == "BatchNormStats") return work.write("mean", means) && work.write("invstd", inverses);
        const bool written = work.write("save_mean", means) && work.write("save_invstd", inverses);
        return work.write("out", out) && written;
    });
}

}  // namespace diopigen::variants
