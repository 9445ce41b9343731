// What IndexSelect, Gather and Embedding move. Elements are moved as they are, so that every dtype goes the same way.
#include <algorithm>
#include <atomic>

#include "indexing/indexing_kernels.h"
#include "offsets.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// The elements that positions name in a row-major tensor, where they have been checked.
struct Checked {
    const Input<Int64>& values;
    int64_t operator[](int64_t k) const { return values[k].value; }
};

// The elements of a row that positions name.
template <typename W>
DIOPI_CPU_CLONES void gather_row(W* __restrict to, const W* __restrict row, const Int64* __restrict positions,
                                 int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
        to[k] = row[positions[k].value];
    }
}

// `count` elements in rows of `length` from rows of `size`.
template <typename W>
void gather_rows(W* to, const W* from, const Int64* positions, int64_t count, int64_t length, int64_t size) {
    parallel_for(count, 8192, [&](int64_t begin, int64_t end) {
        while (begin < end) {
            const int64_t row = begin / length;
            const int64_t own = std::min(end, (row + 1) * length) - begin;
            gather_row(to + begin, from + row * size, positions + begin, own);
            begin += own;
        }
    });
}

}  // namespace

void require_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message) {
    std::atomic<bool> is_wrong{false};
    parallel_for(count, 65536, [&](int64_t begin, int64_t end) {
        if (!are_within(index.data() + begin, end - begin, 0, size)) {
            is_wrong = true;
        }
    });
    require(!is_wrong, message);
}

// Dimension `at` of `input` is replaced by the positions.
void pick(const Tensor& out, const Tensor& input, const Input<Int64>& positions, int64_t count, const DimSplit& split) {
    dispatch_word(input.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(input);
        const RawOutput target(out);
        pick_slices(target.as<W>(), source.as<W>(), Checked{positions}, count, split);
        target.store();
    });
}

void gather_elements(const Tensor& out_tensor, const Tensor& input_tensor, const Input<Int64>& positions,
                     const Tensor& index_tensor, int64_t at) {
    const std::vector<int64_t> input_shape = shape_at_least_1d(input_tensor);
    const std::vector<int64_t> index_shape = shape_at_least_1d(index_tensor);
    const IndexedOffsets offsets(input_shape, index_shape, at);
    // Rows of the index over rows of the input.
    const bool is_rowwise = at + 1 == static_cast<int64_t>(index_shape.size()) &&
                            std::equal(index_shape.begin(), index_shape.end() - 1, input_shape.begin());
    dispatch_word(input_tensor.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(input_tensor);
        const RawOutput target(out_tensor);
        if (is_rowwise) {
            gather_rows(target.as<W>(), source.as<W>(), positions.data(), index_tensor.numel, index_shape.back(),
                        input_shape.back());
            target.store();
            return;
        }
        offsets.for_each(Checked{positions}, [from = source.as<W>(), to = target.as<W>()](int64_t offset, int64_t k) {
            to[k] = from[offset];
        });
        target.store();
    });
}

}  // namespace diopigen::core
