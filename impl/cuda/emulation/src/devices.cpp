// Devices, errors, and memory with its pools.
#include "devices.h"

#include <diopigen/environment.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "emulation/launch.h"

namespace diopigen::cuda::emulation {

namespace {

constexpr size_t kArena = size_t{64} << 30;  // addresses; pages come when they are touched
constexpr size_t kAlignment = 256;           // as cudaMalloc has it
constexpr size_t kHugePage = size_t{1} << 21;
constexpr size_t kLarge = size_t{1} << 22;

thread_local int current = 0;
thread_local int working = -1;
thread_local cudaError_t latest = cudaSuccess;

constexpr size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::array<std::unique_ptr<Memory>, kMostDevices>& memories() {
    static std::array<std::unique_ptr<Memory>, kMostDevices> all;
    return all;
}

std::mutex& memories_mutex() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

int device_count() {
    static const int count = static_cast<int>(diopigen::environment::number("DIOPI_CUDA_EMULATION_DEVICES", 1));
    return count;
}

int current_device() { return current; }
int working_device() { return working >= 0 ? working : current; }

void work_for(int device, const std::function<void()>& work) {
    const int before = working;
    working = device;
    work();
    working = before;
}

cudaError_t answer(cudaError_t status) {
    latest = status == cudaSuccess ? latest : status;
    return status;
}

Memory& Memory::of(int device) {
    const std::lock_guard lock(memories_mutex());
    std::unique_ptr<Memory>& own = memories()[static_cast<size_t>(device)];
    if (own == nullptr) {
        own.reset(new Memory);
    }
    return *own;
}

int Memory::owner(const void* data) {
    const std::lock_guard lock(memories_mutex());
    for (int device = 0; device < kMostDevices; ++device) {
        const Memory* const memory = memories()[static_cast<size_t>(device)].get();
        const auto* const address = static_cast<const char*>(data);
        if (memory != nullptr && address >= memory->base_ && address < memory->base_ + kArena) {
            return device;
        }
    }
    return -1;
}

uint64_t Memory::limit() {
    static const auto bytes =
        static_cast<uint64_t>(diopigen::environment::number("DIOPI_CUDA_EMULATION_MEMORY", int64_t{8} << 30));
    return bytes;
}

// Every launch opens and closes the memory, which costs the kernel of the host time for each of its pages: large pages
// are few.
Memory::Memory() {
    constexpr size_t kBytes = kArena + kHugePage;
    void* const range = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
        base_ = reinterpret_cast<char*>(rounded_up(reinterpret_cast<uintptr_t>(range), kHugePage));
        madvise(base_, kArena, MADV_HUGEPAGE);
    }
}

void* Memory::allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t size = rounded_up(std::max<size_t>(bytes, 1), kAlignment);
    if (base_ == nullptr || used_ + size > limit()) {
        return nullptr;
    }
    // The first gap that is large enough.
    size_t start = 0;
    for (const auto& [offset, length] : blocks_) {
        if (offset - start >= size) {
            break;
        }
        start = offset + length;
    }
    if (start + size > kArena) {
        return nullptr;
    }
    blocks_[start] = size;
    used_ += size;
    reserved_ = std::max(reserved_, used_);
    if (start + size > reach_) {
        reach_ = rounded_up(start + size, kHugePage);
        protect();
    }
    return base_ + start;
}

bool Memory::release(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<size_t>(static_cast<const char*>(data) - base_));
    if (found == blocks_.end()) {
        return false;
    }
    used_ -= found->second;
    if (found->second >= kLarge) {
        // The pages that no other block has a piece of.
        const size_t begin = rounded_up(found->first, kHugePage);
        const size_t end = (found->first + found->second) / kHugePage * kHugePage;
        madvise(base_ + begin, end - begin, MADV_DONTNEED);
    }
    blocks_.erase(found);
    // Free memory at the end stays closed.
    if (open_ == 0) {
        reach_ = blocks_.empty() ? 0 : rounded_up(blocks_.rbegin()->first + blocks_.rbegin()->second, kHugePage);
    }
    return true;
}

bool Memory::holds(const void* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto offset = static_cast<size_t>(static_cast<const char*>(data) - base_);
    auto found = blocks_.upper_bound(offset);
    if (found == blocks_.begin()) {
        return false;
    }
    --found;
    return offset + bytes <= found->first + found->second;
}

void Memory::open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) {
        protect();
    }
}

void Memory::close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) {
        protect();
    }
}

void Memory::trim() {
    const std::lock_guard lock(mutex_);
    reserved_ = std::max(used_, std::min(reserved_, threshold_));
}

void Memory::keep(uint64_t threshold) {
    const std::lock_guard lock(mutex_);
    threshold_ = threshold;
}

uint64_t Memory::used() {
    const std::lock_guard lock(mutex_);
    return used_;
}

uint64_t Memory::reserved() {
    const std::lock_guard lock(mutex_);
    return reserved_;
}

void Memory::protect() {
    if (reach_ > 0) {
        mprotect(base_, reach_, open_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
}

Access::Access() : Access(working_device()) {}
Access::Access(int device) : device_(device) { Memory::of(device_).open(); }
Access::~Access() { Memory::of(device_).close(); }

}  // namespace diopigen::cuda::emulation

using diopigen::cuda::emulation::answer;
using diopigen::cuda::emulation::current;
using diopigen::cuda::emulation::device_count;
using diopigen::cuda::emulation::latest;
using diopigen::cuda::emulation::Memory;

namespace {

Memory& memory_of(cudaMemPool_t pool) { return *reinterpret_cast<Memory*>(pool); }
bool is_device(int device) { return device >= 0 && device < device_count(); }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
    *count = device_count();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (!is_device(device)) {
        return answer(cudaErrorInvalidDevice);
    }
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 1;
    return answer(is_device(device) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    if (!is_device(device)) {
        return answer(cudaErrorInvalidDevice);
    }
    *pool = reinterpret_cast<cudaMemPool_t>(&Memory::of(device));
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    if (attribute != cudaMemPoolAttrReleaseThreshold) {
        return answer(cudaErrorInvalidValue);
    }
    memory_of(pool).keep(*static_cast<const uint64_t*>(value));
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    auto& number = *static_cast<uint64_t*>(value);
    switch (attribute) {
        case cudaMemPoolAttrReservedMemCurrent:
            number = memory_of(pool).reserved();
            return cudaSuccess;
        case cudaMemPoolAttrUsedMemCurrent:
            number = memory_of(pool).used();
            return cudaSuccess;
        default:
            return answer(cudaErrorInvalidValue);
    }
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
    *total = Memory::limit();
    *available = Memory::limit() - Memory::of(current).reserved();
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
    attributes->device = Memory::owner(data);
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    const cudaError_t status = latest;
    latest = cudaSuccess;
    return status;
}

namespace {

struct ErrorText {
    cudaError_t status;
    const char* name;
    const char* text;
};

constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const ErrorText& entry_of(cudaError_t status) {
    const auto* const found =
        std::find_if(std::begin(kErrors), std::end(kErrors), [=](const ErrorText& e) { return e.status == status; });
    return found == std::end(kErrors) ? kErrors[1] : *found;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t status) { return entry_of(status).name; }
const char* cudaGetErrorString(cudaError_t status) { return entry_of(status).text; }
