#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include <cstring>
#include <new>

namespace {

constexpr std::align_val_t kAlignment{64};

// An object of its own for each stream, so that a host that leaks or mixes up streams is found out.
struct HostStream {};

thread_local const char* last_error = "";

int32_t report_failure(const char* text) {
    last_error = text;
    return 1;
}

void* allocate(uint64_t bytes) {
    // Never null for 0 bytes, as the contract has it for all devices.
    void* const memory = ::operator new(bytes == 0 ? 1 : bytes, kAlignment, std::nothrow);
    if (memory == nullptr) {
        report_failure("out of host memory");
    }
    return memory;
}

void release(void* pointer) { ::operator delete(pointer, kAlignment); }

int32_t create_stream(diopiStreamHandle_t* stream) {
    if (stream == nullptr) {
        return report_failure("create stream: null pointer");
    }
    auto* const created = new (std::nothrow) HostStream;
    if (created == nullptr) {
        return report_failure("out of host memory");
    }
    *stream = created;
    return 0;
}

int32_t destroy_stream(diopiStreamHandle_t stream) {
    delete static_cast<HostStream*>(stream);
    return 0;
}

int32_t synchronize_stream(diopiStreamHandle_t) { return 0; }

int32_t copy(diopiStreamHandle_t, void* dst, const void* src, uint64_t bytes) {
    if (bytes == 0) {
        return 0;
    }
    if (dst == nullptr || src == nullptr) {
        return report_failure("copy: null pointer");
    }
    std::memmove(dst, src, bytes);
    return 0;
}

const char* get_last_error_string() { return last_error; }

}  // namespace

int32_t diopigenRegisterHostDevice(void) {
    const int32_t codes[] = {
        diopiRegisterDeviceMallocFunc(allocate),
        diopiRegisterDevMemFreeFunc(release),
        diopiRegisterStreamCreateFunc(create_stream),
        diopiRegisterStreamDestroyFunc(destroy_stream),
        diopiRegisterSynchronizeStreamFunc(synchronize_stream),
        diopiRegisterMemcpyH2DAsyncFunc(copy),
        diopiRegisterMemcpyD2HAsyncFunc(copy),
        diopiRegisterMemcpyD2DAsyncFunc(copy),
        diopiRegisterGetLastErrorFunc(get_last_error_string),
    };
    for (const int32_t code : codes) {
        if (code != 0) {
            return code;
        }
    }
    return 0;
}
