// Gathering by tables, in runs of neighbours.
#include <algorithm>

#include "shape/shape_kernels.h"

namespace diopigen::core {

namespace {

// Elements of a row that are contiguous in the input too.
struct Run {
    int64_t from;
    int64_t to;
    int64_t length;
};

std::vector<Run> runs_of(const std::vector<int64_t>& table) {
    std::vector<Run> runs;
    for (size_t i = 0; i < table.size(); ++i) {
        if (!runs.empty() && table[i] == runs.back().from + runs.back().length) {
            ++runs.back().length;
        } else {
            runs.push_back({table[i], static_cast<int64_t>(i), 1});
        }
    }
    return runs;
}

// Fills a row-major `to` with the elements of a row-major `from` that the tables name. There is at least one dimension.
template <typename W>
void gather(W* to, const W* from, const std::vector<int64_t>& from_shape, const Tables& tables) {
    const size_t last = tables.size() - 1;
    const auto width = static_cast<int64_t>(tables[last].size());
    const std::vector<Run> runs = runs_of(tables[last]);
    int64_t rows = 1;
    for (size_t d = 0; d < last; ++d) {
        rows *= static_cast<int64_t>(tables[d].size());
    }
    parallel_for(width > 0 ? rows : 0, row_grain(width), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t rest = row;
            int64_t offset = 0;
            int64_t stride = from_shape[last];
            for (size_t d = last; d-- > 0;) {
                const auto size = static_cast<int64_t>(tables[d].size());
                offset += tables[d][static_cast<size_t>(rest % size)] * stride;
                rest /= size;
                stride *= from_shape[d];
            }
            for (const Run& run : runs) {
                std::copy_n(from + offset + run.from, run.length, to + row * width + run.to);
            }
        }
    });
}

}  // namespace

void gather_tables(const Tensor& out, const Tensor& input, const std::vector<int64_t>& input_shape,
                   const Tables& tables) {
    dispatch_word(out.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(input);
        const RawOutput to(out);
        gather(to.as<W>(), from.as<W>(), input_shape, tables);
        to.store();
    });
}

}  // namespace diopigen::core
