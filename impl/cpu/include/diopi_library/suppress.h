// How the CPU goes down a list (detection/boxes.h): in blocks, whose boxes that stay all threads compare with those
// after the block.
#ifndef DIOPI_LIBRARY_SUPPRESS_H_
#define DIOPI_LIBRARY_SUPPRESS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/threads.h"

namespace diopigen::core {

struct Suppress {
    template <typename Overlaps>
    void operator()(int64_t* retained, int64_t count, const Overlaps& overlaps) const {
        constexpr int64_t kBlock = 64;
        constexpr int64_t kGrain = 64;
        std::vector<char> is_gone(static_cast<size_t>(count), 0);
        int64_t found = 0;
        for (int64_t begin = 0; begin < count; begin += kBlock) {
            const int64_t end = std::min(count, begin + kBlock);
            const int64_t before = found;
            const auto compare = [&](int64_t i) {
                for (int64_t k = before; k < found && is_gone[i] == 0; ++k) {
                    is_gone[i] = overlaps(retained[k], i) ? 1 : 0;
                }
            };
            for (int64_t i = begin; i < end; ++i) {
                compare(i);
                if (is_gone[i] == 0) {
                    retained[found] = i;
                    ++found;
                }
            }
            // The threads meet once per block, not once per box.
            parallel_for(count - end, kGrain, [&](int64_t first, int64_t last) {
                for (int64_t i = end + first; i < end + last; ++i) {
                    compare(i);
                }
            });
        }
        retained[count] = found;
    }

    static int64_t number(const int64_t* retained) { return *retained; }
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_SUPPRESS_H_
