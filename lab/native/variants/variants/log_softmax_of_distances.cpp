// The logarithm of softmax as (x - maximum) - log(sum).
#include <algorithm>
#include <cmath>

#include "../groups.h"

namespace diopigen::variants {

namespace {

bool logSoftmax(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        std::vector<T> out(input.values.size());
        for (const auto& line : linesOf(input.shape, work.integer("dim"))) {
            if (line.empty()) return false;
            T maximum = input[line.front()], sum = 0;
            for (const int64_t i : line) maximum = input[i] <= maximum ? maximum : input[i];
            for (const int64_t i : line) sum += std::exp(input[i] - maximum);
            for (const int64_t i : line) out[static_cast<size_t>(i)] = input[i] - maximum - std::log(sum);
        }
        return work.write("out", out);
    });
}

const Registration registration("softmax",
                                {{"log-softmax-of-distances", "the logarithm of softmax is (x - maximum) - log(sum)",
                                  named("LogSoftmax"), replaced(logSoftmax)}});

}  // namespace

}  // namespace diopigen::variants
