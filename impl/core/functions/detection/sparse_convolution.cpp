// What the host makes of the pairs of sparse convolution, and of tables of rotations.
#include "detection/sparse_convolution.h"

namespace diopigen::core {

RowPairs::RowPairs(const Tensor& pairs, const Tensor& counts, int64_t inputs, int64_t outputs, bool is_inverse,
                   const char* message)
    : positions_(counts.numel), inputs_(inputs), outputs_(outputs) {
    const std::vector<int64_t> rows = integers_of(pairs);
    const std::vector<int64_t> used = integers_of(counts);
    const int64_t length = pairs.shape[2];
    for (int64_t position = 0; position < positions_; ++position) {
        require(used[position] <= length, message);
        const int64_t* first = rows.data() + 2 * position * length;
        for (int64_t i = 0; i < used[position]; ++i) {
            const int64_t one = first[i];
            const int64_t other = first[length + i];
            const Pair pair{position, is_inverse ? other : one, is_inverse ? one : other};
            require(pair.input >= 0 && pair.input < inputs && pair.output >= 0 && pair.output < outputs, message);
            pairs_.push_back(pair);
        }
    }
}

const PairsOf& RowPairs::by(int64_t owners, Lists& lists, int64_t (*owner)(const Pair&)) {
    std::vector<int64_t> first(static_cast<size_t>(owners) + 1, 0);
    for (const Pair& pair : pairs_) {
        ++first[owner(pair) + 1];
    }
    for (int64_t i = 0; i < owners; ++i) {
        first[i + 1] += first[i];
    }
    std::vector<Pair> sorted(pairs_.size());
    std::vector<int64_t> next(first);
    for (const Pair& pair : pairs_) {
        sorted[next[owner(pair)]++] = pair;
    }
    lists.first = list_for_kernels(first);
    lists.pairs = list_for_kernels(sorted);
    lists.lists = {static_cast<const int64_t*>(lists.first.data()), static_cast<const Pair*>(lists.pairs.data())};
    return lists.lists;
}

std::vector<int64_t> rotated_positions(const Tensor& indices) {
    constexpr const char* kPermutation = "C1: each rotation in indices is a permutation of 1 to R * H * W";
    const int64_t rotations = indices.shape[3];
    const int64_t elements = indices.shape[0] * indices.shape[1] * indices.shape[2];
    std::vector<int64_t> positions = integers_of(indices);
    std::vector<bool> is_used(positions.size(), false);
    for (size_t i = 0; i < positions.size(); ++i) {
        --positions[i];
        require(positions[i] >= 0 && positions[i] < elements, kPermutation);
        const auto slot = static_cast<size_t>(positions[i] * rotations) + i % static_cast<size_t>(rotations);
        require(!is_used[slot], kPermutation);
        is_used[slot] = true;
    }
    return positions;
}

}  // namespace diopigen::core
