// Launches: kernels as work of a stream.
#include "emulation/launch.h"

#include <utility>

namespace diopigen::cuda::emulation {

namespace {

bool is_stopped(const int32_t* guard) { return guard != nullptr && *guard != 0; }

}  // namespace

Kernel::Kernel(const void* body, size_t bytes)
    : bytes_((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)) {
    std::memcpy(bytes_.data(), body, bytes);
}

cudaError_t launch_each(cudaStream_t stream, const int32_t* guard, int64_t count, Kernel kernel, CallEach call) {
    return submit(stream, [guard, count, kernel = std::move(kernel), call] {
        const Access access;
        if (is_stopped(guard)) {
            return;
        }
        const bool reversed = is_reversed();
        for (int64_t i = 0; i < count; ++i) {
            call(kernel.body(), reversed ? count - 1 - i : i);
        }
    });
}

cudaError_t launch_groups(cudaStream_t stream, const int32_t* guard, int64_t count, int threads, int64_t shared_bytes,
                          Kernel kernel, CallGroup call) {
    return submit(stream, [guard, count, threads, shared_bytes, kernel = std::move(kernel), call] {
        const Access access;
        if (!is_stopped(guard)) {
            for_groups(count, threads, shared_bytes,
                       [&](int64_t k, int thread, void* memory) { call(kernel.body(), k, thread, threads, memory); });
        }
    });
}

}  // namespace diopigen::cuda::emulation
