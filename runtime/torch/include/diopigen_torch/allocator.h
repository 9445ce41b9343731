// Device memory for PyTorch: blocks that are freed wait for the next use on the stream that they were made for.
#ifndef DIOPIGEN_TORCH_ALLOCATOR_H_
#define DIOPIGEN_TORCH_ALLOCATOR_H_

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace diopigen::backend {

c10::DeviceAllocator& device_allocator();
/// The share of a device's memory that this process may have, in [0, 1]; 1 is no limit. Blocks that it already has
/// count.
void set_memory_fraction(c10::DeviceIndex device, double fraction);
/// From now on memory of streams that are captured with this pool comes from it, until close_pool() was called as often
/// (capture.h): other tensors do not get it.
void open_pool(c10::MempoolId_t pool);
void close_pool(c10::MempoolId_t pool);
/// The capture ends: returns memory to the pool that had uses on other streams.
void return_deferred(c10::MempoolId_t pool);
/// Page-locked memory of the host, as far as a device knows the word: copies from it may be asynchronous.
at::HostAllocator& pinned_allocator();
bool is_pinned(const void* pointer);
/// A copy reads or writes the pinned block at `pointer` on `stream`: it is not reused before that is over.
void record_pinned(const void* pointer, c10::Stream stream);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_ALLOCATOR_H_
