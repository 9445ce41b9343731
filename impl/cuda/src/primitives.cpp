#include "diopi_cuda/primitives.h"

namespace diopigen::cuda {

Keyed::Keyed(int64_t count) : count_(count) {
    for (const int k : {0, 1}) {
        keys_[k].allocate(count * static_cast<int64_t>(sizeof(uint64_t)));
        indices_[k].allocate(count * static_cast<int64_t>(sizeof(int64_t)));
    }
}

}  // namespace diopigen::cuda
