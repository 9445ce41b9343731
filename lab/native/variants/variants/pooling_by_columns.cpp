// Averages over windows whose elements are added up column by column and multiplied by the reciprocal of their number.
#include <algorithm>

#include "../work.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> input = work.read<T>("input");
        const Dims shape = work.call().tensor("out").shape();
        const int64_t rows = input.size(-2), columns = input.size(-1);
        const bool adaptive = work.call().hasPrefix("Adaptive");
        const auto option = [&](const char* name, size_t dim, int64_t missing) {
            const Dims sizes = work.call().sizes(name);
            return sizes.empty() ? missing : sizes.size() > 1 ? sizes[dim] : sizes[0];
        };
        // An override is null or a pointer to a number: this variant leaves such calls alone.
        const void* divisor = work.call().argument("divisor_override");
        if (divisor != nullptr && *static_cast<const void* const*>(divisor) != nullptr) return false;
        std::vector<T> out;
        for (int64_t i = 0; i < countOf(shape); ++i) {
            const int64_t at[2] = {i / shape.back() % shape[shape.size() - 2], i % shape.back()};
            const int64_t plane = i / shape.back() / shape[shape.size() - 2], sizes[2] = {rows, columns};
            int64_t first[2], end[2], number = 1;
            for (size_t d = 0; d < 2; ++d) {
                if (adaptive) {
                    const int64_t results = shape[shape.size() - 2 + d];
                    first[d] = at[d] * sizes[d] / results;
                    end[d] = ((at[d] + 1) * sizes[d] + results - 1) / results;
                    number *= end[d] - first[d];
                    continue;
                }
                const int64_t window = option("kernel_size", d, 1), padding = option("padding", d, 0);
                first[d] = at[d] * option("stride", d, window) - padding;
                end[d] = std::min(first[d] + window, sizes[d] + padding);
                const int64_t padded = end[d] - first[d];
                first[d] = std::max<int64_t>(first[d], 0);
                end[d] = std::min(end[d], sizes[d]);
                number *= work.number("count_include_pad") != 0 ? padded : end[d] - first[d];
            }
            T sum = 0;
            for (int64_t x = first[1]; x < end[1]; ++x) {
                T column = 0;
                for (int64_t y = first[0]; y < end[0]; ++y) column += input[(plane * rows + y) * columns + x];
                sum += column;
            }
            out.push_back(sum * (1 / static_cast<T>(number)));
        }
        return work.write("out", out);
    });
}

const Registration registration("pooling", {{"pooling-by-columns", "an average adds up columns and multiplies by 1 / n",
                                             named("AvgPool2d AdaptiveAvgPool2d"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
