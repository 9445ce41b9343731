// What primitives.h asks for, by CUB.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "diopi_cuda/primitives.h"

namespace diopigen::cuda {

namespace {

// Calls `run(memory, bytes)` twice: for the size of its memory, and to do the work.
template <typename Run>
void with_memory(const char* what, const Run& run) {
    size_t bytes = 0;
    check(run(nullptr, bytes), what);
    Buffer memory;
    memory.allocate(static_cast<int64_t>(bytes));
    check(run(memory.data(), bytes), what);
}

}  // namespace

void sum_before_each(int64_t* sums, const int64_t* counts, int64_t count) {
    if (count > 0) {
        with_memory("add up", [&](void* memory, size_t& bytes) {
            return cub::DeviceScan::ExclusiveSum(memory, bytes, counts, sums, count, stream());
        });
    }
}

void Keyed::sort(int bits) {
    if (count_ < 2) {
        return;
    }
    cub::DoubleBuffer<uint64_t> keys(this->keys(), static_cast<uint64_t*>(keys_[1 - at_].data()));
    cub::DoubleBuffer<int64_t> indices(this->indices(), static_cast<int64_t*>(indices_[1 - at_].data()));
    with_memory("sort", [&](void* memory, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, indices, count_, 0, bits, stream());
    });
    // Both come to be in the same one of the two arrays.
    at_ = keys.selector == 0 ? at_ : 1 - at_;
}

}  // namespace diopigen::cuda
