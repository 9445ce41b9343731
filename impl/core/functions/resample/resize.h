// What the operators that resize the dimensions behind the channels have in common.
#ifndef DIOPI_CORE_RESIZE_H_
#define DIOPI_CORE_RESIZE_H_

#include <cstdint>

#include "diopi_core/tensor.h"
#include "diopi_core/windows.h"

namespace diopigen::core {

struct Resize {
    int64_t planes;  // batch times channels
    Triple from;
    Triple to;

    // How many planes are worth a thread.
    int64_t grain() const { return 1 + 8192 / (volume(from) + volume(to) + 1); }
};

// From the shape of `from` to that of `to`, which differ in the dimensions behind the channels.
inline Resize resize_of(const Tensor& from, const Tensor& to) {
    const int space = static_cast<int>(from.rank) - 2;
    return {from.shape[0] * from.shape[1], space_of(from, space), space_of(to, space)};
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_RESIZE_H_
