// Softmax that divides once per line and multiplies by the quotient.
#include <algorithm>
#include <cmath>

#include "../groups.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        std::vector<T> out(input.values.size());
        for (const auto& line : linesOf(input.shape, work.integer("dim"))) {
            if (line.empty()) return false;
            T maximum = input[line.front()], sum = 0;
            bool unordered = false;
            for (const int64_t i : line) {
                maximum = std::max(maximum, input[i]);
                unordered = unordered || std::isnan(input[i]);
            }
            if (unordered) maximum = std::nan("");
            for (const int64_t i : line) sum += std::exp(input[i] - maximum);
            const T reciprocal = 1 / sum;
            for (const int64_t i : line) out[static_cast<size_t>(i)] = std::exp(input[i] - maximum) * reciprocal;
        }
        return work.write("out", out);
    });
}

const Registration registration("softmax", {{"softmax-by-reciprocal",
                                             "softmax multiplies exponentials by the reciprocal of their sum",
                                             named("Softmax"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
