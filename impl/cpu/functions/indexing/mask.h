// A mask in row-major order of a shape that it broadcasts to, and where its true elements stand.
#ifndef DIOPI_CPU_FUNCTIONS_INDEXING_MASK_H_
#define DIOPI_CPU_FUNCTIONS_INDEXING_MASK_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "diopi_core/clones.h"
#include "diopi_core/raw_elements.h"
#include "indexing/mask_selection.h"

namespace diopigen::cpu {

using namespace core;

class Mask {
  public:
    Mask(const Tensor& mask, const std::vector<int64_t>& shape)
        : view_(expanded(as_bytes(mask), shape)),
          elements_(view_.tensor()),
          numel_(view_.tensor().numel),
          before_(static_cast<size_t>(chunks() + 1), 0) {
        parallel_for(chunks(), 1, [&](int64_t begin, int64_t end) {
            for (int64_t chunk = begin; chunk < end; ++chunk) {
                const int64_t first = chunk * kChunk;
                before_[chunk + 1] = count_true(elements_.data() + first, std::min(kChunk, numel_ - first));
            }
        });
        std::partial_sum(before_.begin(), before_.end(), before_.begin());
    }
    // How many elements are true.
    int64_t count() const { return before_.back(); }

    // Calls `body(positions, number, count)` for true elements that follow each other: their positions, of which the
    // first is that of true element `number`. Several threads call it.
    template <typename Body>
    void for_each_run(Body&& body) const {
        parallel_for(chunks(), 1, [&](int64_t begin, int64_t end) {
            int64_t positions[kBlock + 1];
            for (int64_t chunk = begin; chunk < end; ++chunk) {
                int64_t number = before_[chunk];
                const int64_t last = std::min(numel_, (chunk + 1) * kChunk);
                for (int64_t first = chunk * kChunk; first < last; first += kBlock) {
                    const int64_t found = list_true(positions, elements_.data(), first, std::min(last, first + kBlock));
                    if (found > 0) {
                        body(positions, number, found);
                        number += found;
                    }
                }
            }
        });
    }

  private:
    static constexpr int64_t kChunk = 65536;
    static constexpr int64_t kBlock = 512;

    int64_t chunks() const { return (numel_ + kChunk - 1) / kChunk; }

    DIOPI_CPU_CLONES static int64_t count_true(const Uint8* elements, int64_t count) {
        int64_t result = 0;
        for (int64_t i = 0; i < count; ++i) {
            result += elements[i].value != 0 ? 1 : 0;
        }
        return result;
    }
    // Without branches, which would be unpredictable. `positions` has room for one more than there are elements.
    static int64_t list_true(int64_t* positions, const Uint8* elements, int64_t begin, int64_t end) {
        int64_t found = 0;
        for (int64_t i = begin; i < end; ++i) {
            positions[found] = i;
            found += elements[i].value != 0 ? 1 : 0;
        }
        return found;
    }

    View view_;
    Input<Uint8> elements_;
    int64_t numel_;
    std::vector<int64_t> before_;  // true elements before each chunk
};

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_FUNCTIONS_INDEXING_MASK_H_
