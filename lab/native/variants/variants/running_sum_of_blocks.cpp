// Running sums of blocks, to which the sum of all blocks before is added afterwards: a parallel scan.
#include <algorithm>

#include "../groups.h"

namespace diopigen::variants {

namespace {

constexpr size_t kBlock = 8;

bool compute(Work& work) {
    const bool backward = work.call().hasPrefix("CumsumBackward");
    const char* source = backward ? "grad_output" : "input";
    return inAccumulateType(work.dtype(source), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>(source);
        std::vector<T> out(input.values.size());
        for (auto line : linesOf(input.shape, work.integer("dim"))) {
            if (backward) std::reverse(line.begin(), line.end());
            T before = 0;
            for (size_t first = 0; first < line.size(); first += kBlock) {
                T own = 0;
                for (size_t i = first; i < std::min(first + kBlock, line.size()); ++i) {
                    own += input[line[i]];
                    out[static_cast<size_t>(line[i])] = before + own;
                }
                before += own;
            }
        }
        return work.write(backward ? "grad_input" : "out", out);
    });
}

const Registration registration("order of sums", {{"running-sum-of-blocks", "a running sum starts anew in each block",
                                                   named("Cumsum CumsumBackward"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
