// How the CPU goes down a list (detection/boxes.h): what each one that stays overlaps is found by all threads.
#ifndef DIOPI_LIBRARY_SUPPRESS_H_
#define DIOPI_LIBRARY_SUPPRESS_H_

#include <cstdint>
#include <vector>

#include "diopi_core/threads.h"

namespace diopi::core {

struct Suppress {
    template <typename Overlaps>
    void operator()(int64_t* retained, int64_t count, const Overlaps& overlaps) const {
        constexpr int64_t kGrain = 256;
        std::vector<char> is_gone(static_cast<size_t>(count), 0);
        int64_t found = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (is_gone[i] != 0) {
                continue;
            }
            retained[found] = i;
            ++found;
            parallel_for(count - i - 1, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t k = i + 1 + begin; k < i + 1 + end; ++k) {
                    if (is_gone[k] == 0 && overlaps(i, k)) {
                        is_gone[k] = 1;
                    }
                }
            });
        }
        retained[count] = found;
    }

    static int64_t number(const int64_t* retained) { return *retained; }
};

}  // namespace diopi::core

#endif  // DIOPI_LIBRARY_SUPPRESS_H_
