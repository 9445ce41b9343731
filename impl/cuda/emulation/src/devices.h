// The devices of the emulation, and their memory.
#ifndef DIOPI_CUDA_EMULATION_DEVICES_H_
#define DIOPI_CUDA_EMULATION_DEVICES_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace diopigen::cuda::emulation {

constexpr int kMostDevices = 8;

// As many as DIOPI_CUDA_EMULATION_DEVICES says, 1 without it.
int device_count();
// The device of the calling thread.
int current_device();
// The device whose work this thread does at the moment, else the current one.
int working_device();

// What is done for a device, on this thread.
void work_for(int device, const std::function<void()>& work);

// Notes an error for cudaGetLastError, and gives it back.
cudaError_t answer(cudaError_t status);

// The memory of one device: a range of addresses without access, which opens while a kernel or a copy runs. It is also
// its pool, which holds what is in use and, up to the threshold, what was.
class Memory {
  public:
    static Memory& of(int device);
    // The device that an address is one of, or -1.
    static int owner(const void* data);

    // Null where there is not enough.
    void* allocate(size_t bytes);
    bool release(const void* data);
    // Whether `bytes` at `data` are in one allocation.
    bool holds(const void* data, size_t bytes);
    void open();
    void close();

    // Gives back what is held beyond the threshold.
    void trim();
    void keep(uint64_t threshold);
    uint64_t used();
    uint64_t reserved();
    // Bytes that the device has: DIOPI_CUDA_EMULATION_MEMORY, 8 GiB without it.
    static uint64_t limit();

  private:
    Memory();
    void protect();

    std::mutex mutex_;
    char* base_ = nullptr;
    std::map<size_t, size_t> blocks_;  // length by offset
    uint64_t used_ = 0;
    uint64_t reserved_ = 0;
    uint64_t threshold_ = 0;
    size_t reach_ = 0;  // the end of the last block, or more
    int open_ = 0;
};

}  // namespace diopigen::cuda::emulation

#endif  // DIOPI_CUDA_EMULATION_DEVICES_H_
