#include "storage.h"

#include <atomic>
#include <new>
#include <string>

#include "failure.h"

namespace diopigen {
namespace {

// A cache line and the widest vector; what frameworks give operators on the CPU.
constexpr std::align_val_t hostAlignment{64};

std::atomic<uint64_t> liveHostBytes{0};
std::atomic<uint64_t> liveDeviceBytes{0};

std::atomic<uint64_t>& liveCounter(diopiDevice_t device) {
    return device == diopi_device ? liveDeviceBytes : liveHostBytes;
}

void* allocateHostMemory(uint64_t bytes) {
    void* const memory = ::operator new(bytes, hostAlignment, std::nothrow);
    if (memory == nullptr) {
        fail("out of host memory: " + std::to_string(bytes) + " bytes");
    }
    return memory;
}

void* allocateDeviceMemory(uint64_t bytes, const DeviceFunctions* device) {
    void* const memory = deviceFunctions(device).requireAllocate()(bytes);
    if (memory == nullptr) {
        failWithDeviceText("out of device memory: " + std::to_string(bytes) + " bytes", device);
    }
    return memory;
}

}  // namespace

Storage::Storage(diopiDevice_t device, std::weak_ptr<Stream> stream) : device_(device), stream_(std::move(stream)) {
    const std::shared_ptr<Stream> alive = stream_.lock();
    functions_ = alive != nullptr ? alive->device() : selectedDevice();
}

std::shared_ptr<Storage> Storage::allocate(int64_t bytes, diopiDevice_t device, std::weak_ptr<Stream> stream) {
    // The object first and the memory second, so that a failure in between has nothing to give back.
    auto storage = std::make_shared<Storage>(device, std::move(stream));
    if (bytes > 0) {
        const auto unsignedBytes = static_cast<uint64_t>(bytes);
        storage->data_ = device == diopi_device ? allocateDeviceMemory(unsignedBytes, storage->functions_)
                                                : allocateHostMemory(unsignedBytes);
        storage->bytes_ = bytes;
        storage->owned_ = true;
        liveCounter(device) += unsignedBytes;
    }
    return storage;
}

std::shared_ptr<Storage> Storage::borrow(void* data, int64_t bytes, diopiDevice_t device,
                                         std::weak_ptr<Stream> stream) {
    auto storage = std::make_shared<Storage>(device, std::move(stream));
    storage->data_ = data;
    storage->bytes_ = bytes;
    return storage;
}

Storage::~Storage() {
    if (!owned_) {
        return;
    }
    liveCounter(device_) -= static_cast<uint64_t>(bytes_);
    if (device_ == diopi_host) {
        ::operator delete(data_, hostAlignment);
    } else if (const free_func_t freeDeviceMemory = deviceFunctions(functions_).free) {
        freeDeviceMemory(data_);
    }
}

void Storage::requireFreeFunction() const {
    if (owned_ && device_ == diopi_device) {
        deviceFunctions(functions_).requireFree();
    }
}

void Storage::prepareToFree() const {
    requireFreeFunction();
    if (const std::shared_ptr<Stream> stream = stream_.lock()) {
        stream->synchronize();
    }
}

void requireDevice(diopiDevice_t device) {
    if (device != diopi_host && device != diopi_device) {
        fail("parameter 'device' is " + std::to_string(static_cast<int>(device)) +
             ", neither diopi_host nor diopi_device");
    }
}

uint64_t liveBytes(diopiDevice_t device) { return liveCounter(device); }

}  // namespace diopigen
