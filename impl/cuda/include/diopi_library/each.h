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

    // body.row(k) is what the elements of row k share: row(i) for all i in [0, length).
    template <typename Body>
    void rows(int64_t count, int64_t length, int64_t, const Body& body) const {
        cuda::for_each(count * length, ByRow<Body>{body, length});
    }

    // Not private: nvcc names the type in the kernel that it launches.
    template <typename Body>
    struct ByRow {
        Body body;
        int64_t length;

        DIOPI_HOST_DEVICE void operator()(int64_t at) const { body.row(at / length)(at % length); }
    };
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_EACH_H_
