// The logarithm of softmax by a formula of the distance to the maximum, the maximum and the logarithm of the sum.
#pragma once

#include <algorithm>
#include <cmath>

#include "groups.h"

namespace diopi::variants {

template <typename Formula>
bool logSoftmax(Work& work, const Formula& formula) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        std::vector<T> out(input.values.size());
        for (const auto& line : linesOf(input.shape, work.integer("dim"))) {
            if (line.empty()) return false;
            T maximum = input[line.front()], sum = 0;
            for (const int64_t i : line) maximum = input[i] <= maximum ? maximum : input[i];
            for (const int64_t i : line) sum += std::exp(input[i] - maximum);
            for (const int64_t i : line) out[static_cast<size_t>(i)] = formula(input[i], maximum, std::log(sum));
        }
        return work.write("out", out);
    });
}

}  // namespace diopi::variants
