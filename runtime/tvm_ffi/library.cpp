#include "library.h"

#include <diopigen/host.h>
#include <diopigen/open_library.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "failure.h"

namespace diopigen::ffi {
namespace {

// Stands for a function that the library does not have: null stands for one that was not looked up yet.
char missing;

std::mutex opening;
std::atomic<Library*> first{nullptr};

/// Never destroyed: functions of the library may run until the process ends.
std::map<std::string, std::unique_ptr<Library>>& libraries() {
    static auto* opened = new std::map<std::string, std::unique_ptr<Library>>;
    return *opened;
}

uint32_t new_device() {
    uint32_t number = 0;
    if (diopiHostCreateDevice(&number) != diopiSuccess) {
        throw Failure{"RuntimeError", "the host runtime makes no device"};
    }
    return number;
}

/// Whether this process can read a byte: the kernel copies it, so that a protected address is an error and no signal.
bool is_readable(const void* address) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    const bool readable = write(ends[1], address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return readable;
}

}  // namespace

Library& Library::open(const std::string& path, int32_t device_type, bool initialise) {
    const std::lock_guard<std::mutex> lock(opening);
    std::unique_ptr<Library>& library = libraries()[path];
    if (library == nullptr) {
        // It may register its device functions while it is loaded.
        const uint32_t number = new_device();
        const SelectedDevice selected(number);
        void* handle = nullptr;
        if (diopiHostOpenLibrary(path.c_str(), &handle) != diopiSuccess) {
            libraries().erase(path);
            const char* text = nullptr;
            diopiHostGetLastErrorText(&text);
            throw Failure{"OSError", text};
        }
        try {
            library.reset(new Library(handle, number, device_type, initialise));
        } catch (...) {
            libraries().erase(path);
            throw;
        }
        Library* none = nullptr;
        first.compare_exchange_strong(none, library.get());
    }
    if (device_type != 0 && device_type != library->device_type_) {
        throw Failure{"ValueError", "the library is open with memory of DLPack device " +
                                        std::to_string(library->device_type_) + ", not " + std::to_string(device_type)};
    }
    return *library;
}

Library& Library::of(void* self) {
    auto* const library = self != nullptr ? static_cast<Library*>(self) : first.load(std::memory_order_acquire);
    if (library == nullptr) {
        throw Failure{"RuntimeError", "no library is open; open one with diopi_open"};
    }
    return *library;
}

SelectedDevice::SelectedDevice(uint32_t number) {
    if (diopiHostSelectDevice(number, &previous_) != diopiSuccess) {
        throw Failure{"RuntimeError", "the host runtime does not have the library's device"};
    }
}

SelectedDevice::~SelectedDevice() { diopiHostSelectDevice(previous_, nullptr); }

Library::Library(void* handle, uint32_t number, int32_t device_type, bool initialise)
    : handle_(handle),
      last_error_(reinterpret_cast<const char* (*)()>(dlsym(handle, "diopiGetLastErrorString"))),
      number_(number) {
    if (initialise) {
        const auto start = reinterpret_cast<int32_t (*)()>(dlsym(handle, "initLibrary"));
        if (start != nullptr && start() != 0) {
            throw Failure{"RuntimeError", std::string("initLibrary failed: ") + last_error()};
        }
    }
    const bool shared = host_reads_device();
    device_type_ = static_cast<DLDeviceType>(device_type != 0 ? device_type : shared ? kDLCPU : kDLExtDev);
    device_id_ = device_type_ == kDLExtDev ? static_cast<int32_t>(number_) : 0;
}

bool Library::host_reads_device() {
    const int64_t bytes = 16;
    const diopiSize_t size{&bytes, 1};
    diopiContextHandle_t context = nullptr;
    diopiTensorHandle_t tensor = nullptr;
    bool shared = true;
    if (diopiHostCreateContext(&context) != diopiSuccess) {
        throw Failure{"RuntimeError", "the host runtime makes no context"};
    }
    void* data = nullptr;
    if (diopiHostCreateTensor(context, &tensor, &size, nullptr, 0, diopi_dtype_uint8, diopi_device) == diopiSuccess) {
        has_memory_ = true;
        diopiGetTensorData(tensor, &data);
        shared = is_readable(data);
        diopiHostDestroyTensor(tensor);
    }
    diopiHostDestroyContext(context);
    return shared;
}

void* Library::find(Function function) {
    std::atomic<void*>& slot = table_[static_cast<size_t>(function)];
    void* pointer = slot.load(std::memory_order_relaxed);
    if (pointer == nullptr) {
        pointer = dlsym(handle_, name_of(function));
        slot.store(pointer == nullptr ? &missing : pointer, std::memory_order_relaxed);
    }
    return pointer == &missing ? nullptr : pointer;
}

diopiDevice_t Library::device_of(DLDevice device) const {
    if (device.device_type == device_type_ && (device_type_ != kDLExtDev || device.device_id == device_id_)) {
        return memory();
    }
    if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost || device.device_type == kDLROCMHost) {
        return diopi_host;
    }
    const auto text = [](int32_t type, int32_t id) { return std::to_string(type) + ":" + std::to_string(id); };
    throw Failure{"ValueError", "the tensor is on DLPack device " + text(device.device_type, device.device_id) +
                                    ", the library's memory is " + text(device_type_, device_id_)};
}

}  // namespace diopigen::ffi
