// How kernels that libraries share (impl/core/kernels) run over their owners: owners are spread over the threads.
#ifndef DIOPI_LIBRARY_EACH_H_
#define DIOPI_LIBRARY_EACH_H_

#include <cstdint>

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
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_EACH_H_
