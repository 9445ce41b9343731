#include "diopi_cuda/launch.h"

namespace diopigen::cuda {

void clear(void* data, size_t bytes) {
    if (guard() == nullptr) {
        check(cudaMemsetAsync(data, 0, bytes, stream()), "clear memory");
        return;
    }
    // It may be an output, which stays as it is where a check has found something.
    auto* const to = static_cast<char*>(data);
    for_each(static_cast<int64_t>(bytes), [=] DIOPI_KERNEL(int64_t i) { to[i] = 0; });
}

}  // namespace diopigen::cuda
