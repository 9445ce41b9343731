// How kernels that libraries share (impl/core/kernels) run over their owners: a thread for each owner.
#ifndef DIOPI_LIBRARY_EACH_H_
#define DIOPI_LIBRARY_EACH_H_

#include "diopi_cuda/launch.h"

namespace diopigen::core {

struct Each {
    template <typename Body>
    void operator()(int64_t count, int64_t, const Body& body) const {
        cuda::for_each(count, body);
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_EACH_H_
