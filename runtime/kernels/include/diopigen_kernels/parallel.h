// Kernels that spread their work over threads of the host.
#ifndef DIOPIGEN_KERNELS_PARALLEL_H_
#define DIOPIGEN_KERNELS_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace diopigen::kernels {

/// Calls `body(first, last)` for ranges of `grain` indices (the last may be shorter) that cover [0, count), on the
/// calling thread and on one thread for each other processor; returns when all are done. A call that needs no more
/// than one range, and one while another kernel uses the threads, runs on the calling thread alone. Which thread runs
/// a range changes no result: ranges depend on `count` and `grain` alone, and `body` writes what is its range's.
/// Rethrows the first exception.
void forRanges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

/// The largest number of items, at least one, whose work of `each` elements is worth a range.
inline int64_t grainOf(int64_t each) {
    constexpr int64_t kElements = 16384;
    return each >= kElements ? 1 : kElements / (each < 1 ? 1 : each);
}

/// What a device does on threads that help with its kernels, so that its reports name the kernel.
struct ThreadScope {
    const void* (*current)();    ///< on the thread that runs the kernel: what says so, valid until the kernel ends
    void (*enter)(const void*);  ///< on a thread that helps, with that, before its part
    void (*leave)();             ///< after it
};
/// The scope is used until the end of the process.
void setThreadScope(const ThreadScope* scope);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_PARALLEL_H_
