#include "storage.h"

#include <atomic>
#include <new>
#include <string>

#include "failure.h"

namespace diopigen {
namespace {

// A cache line and the widest vector; what frameworks give operators on the CPU.
constexpr std::align_val_t kHostAlignment{64};

std::atomic<uint64_t> live_host_bytes{0};
std::atomic<uint64_t> live_device_bytes{0};

std::atomic<uint64_t>& live_counter(diopiDevice_t device) {
    return device == diopi_device ? live_device_bytes : live_host_bytes;
}

void* allocate_host_memory(uint64_t bytes) {
    void* const memory = ::operator new(bytes, kHostAlignment, std::nothrow);
    if (memory == nullptr) {
        fail("out of host memory: " + std::to_string(bytes) + " bytes");
    }
    return memory;
}

void* allocate_device_memory(uint64_t bytes, const DeviceFunctions* device) {
    void* const memory = device_functions(device).require_allocate()(bytes);
    if (memory == nullptr) {
        fail_with_device_text("out of device memory: " + std::to_string(bytes) + " bytes", device);
    }
    return memory;
}

}  // namespace

Storage::Storage(diopiDevice_t device, std::weak_ptr<Stream> stream) : device_(device), stream_(std::move(stream)) {
    const std::shared_ptr<Stream> alive = stream_.lock();
    functions_ = alive != nullptr ? alive->device() : selected_device();
}

std::shared_ptr<Storage> Storage::allocate(int64_t bytes, diopiDevice_t device, std::weak_ptr<Stream> stream) {
    // The object first and the memory second, so that a failure in between has nothing to give back.
    auto storage = std::make_shared<Storage>(device, std::move(stream));
    if (bytes > 0) {
        const auto unsigned_bytes = static_cast<uint64_t>(bytes);
        storage->data_ = device == diopi_device ? allocate_device_memory(unsigned_bytes, storage->functions_)
                                                : allocate_host_memory(unsigned_bytes);
        storage->bytes_ = bytes;
        storage->owned_ = true;
        live_counter(device) += unsigned_bytes;
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
    live_counter(device_) -= static_cast<uint64_t>(bytes_);
    if (device_ == diopi_host) {
        ::operator delete(data_, kHostAlignment);
    } else if (const free_func_t free_device_memory = device_functions(functions_).free) {
        free_device_memory(data_);
    }
}

void Storage::require_free_function() const {
    if (owned_ && device_ == diopi_device) {
        device_functions(functions_).require_free();
    }
}

void Storage::prepare_to_free() const {
    require_free_function();
    if (const std::shared_ptr<Stream> stream = stream_.lock()) {
        stream->synchronize();
    }
}

void require_device(diopiDevice_t device) {
    if (device != diopi_host && device != diopi_device) {
        fail("parameter 'device' is " + std::to_string(static_cast<int>(device)) +
             ", neither diopi_host nor diopi_device");
    }
}

uint64_t live_bytes(diopiDevice_t device) { return live_counter(device); }

}  // namespace diopigen
