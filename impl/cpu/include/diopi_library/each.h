// How kernels that libraries share (impl/core/kernels) run over their owners: owners are spread over the threads, and
// those of a row are a loop that compilers vectorise.
#ifndef DIOPI_LIBRARY_EACH_H_
#define DIOPI_LIBRARY_EACH_H_

#include <algorithm>
#include <cstdint>

#include "diopi_core/clones.h"
#include "diopi_core/reduction.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

struct Each {
    template <typename Body>
    void operator()(int64_t count, int64_t cost, const Body& body) const {
        parallel_for(count, row_grain(cost), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                body(i);
            }
        });
    }

    // body.row(k) is called once for what the elements of a row share.
    template <typename Body>
    void rows(int64_t count, int64_t length, int64_t cost, const Body& body) const {
        if (length > 0) {
            parallel_for(count * length, row_grain(cost),
                         [&](int64_t begin, int64_t end) { run_rows(begin, end, length, body); });
        }
    }

  private:
    template <typename Body>
    DIOPI_CPU_CLONES static void run_rows(int64_t begin, int64_t end, int64_t length, const Body& body) {
        for (int64_t k = begin / length; k * length < end; ++k) {
            const auto row = body.row(k);
            const int64_t last = std::min(length, end - k * length);
            DIOPI_CPU_INDEPENDENT
            for (int64_t i = std::max<int64_t>(0, begin - k * length); i < last; ++i) {
                row(i);
            }
        }
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_EACH_H_
