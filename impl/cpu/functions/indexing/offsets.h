// Where the elements of an index tensor point to in a tensor of the same rank.
#ifndef DIOPI_CPU_FUNCTIONS_INDEXING_OFFSETS_H_
#define DIOPI_CPU_FUNCTIONS_INDEXING_OFFSETS_H_

#include <vector>

#include "diopi_core/raw_elements.h"

namespace diopigen::cpu {

using namespace core;

// How the elements of an index tensor are in a row-major target that is at least as large outside of one dimension.
class IndexedOffsets {
  public:
    IndexedOffsets(const std::vector<int64_t>& target, const std::vector<int64_t>& index, int64_t dim)
        : columns_(split_at(index, dim)), stride_(split_at(target, dim).inner) {
        const auto at = static_cast<size_t>(dim);
        outer_ = offsets(target, index, 0, at, target[at] * stride_);
        inner_ = offsets(target, index, at + 1, index.size());
    }

    // Calls `body(offset in the target, offset in the index)` for every element.
    template <typename Index, typename Body>
    void for_each(const Index& positions, Body&& body) const {
        if (columns_.inner == 1) {
            parallel_for(columns_.outer, row_grain(columns_.size), [&](int64_t begin, int64_t end) {
                for (int64_t outer = begin; outer < end; ++outer) {
                    const int64_t row = outer * columns_.size;
                    const int64_t first = outer_[outer];
                    for (int64_t k = row; k < row + columns_.size; ++k) {
                        body(first + positions[k] * stride_, k);
                    }
                }
            });
            return;
        }
        parallel_columns(columns_.outer, columns_.inner, columns_.size, [&](int64_t outer, int64_t begin, int64_t end) {
            for (int64_t k = 0; k < columns_.size; ++k) {
                const int64_t row = (outer * columns_.size + k) * columns_.inner;
                for (int64_t i = begin; i < end; ++i) {
                    body(outer_[outer] + positions[row + i] * stride_ + inner_[i], row + i);
                }
            }
        });
    }

  private:
    // The offset in the target of every coordinate in the dimensions [begin, end) of the index.
    static std::vector<int64_t> offsets(const std::vector<int64_t>& target, const std::vector<int64_t>& index,
                                        size_t begin, size_t end, int64_t stride = 1) {
        std::vector<int64_t> result{0};
        for (size_t d = end; d-- > begin;) {
            std::vector<int64_t> next;
            next.reserve(result.size() * static_cast<size_t>(index[d]));
            for (int64_t i = 0; i < index[d]; ++i) {
                for (const int64_t offset : result) {
                    next.push_back(i * stride + offset);
                }
            }
            result = std::move(next);
            stride *= target[d];
        }
        return result;
    }

    DimSplit columns_;
    int64_t stride_;
    std::vector<int64_t> outer_;
    std::vector<int64_t> inner_;
};

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_FUNCTIONS_INDEXING_OFFSETS_H_
