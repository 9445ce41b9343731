// The eleven functions that a host of the newer form finds at link time, and that a vendor's library exports. Linked
// into a vendor's library as it is, or the pattern for the vendor's own.
#include <diopi/diopirt.h>
#include <diopigen_sim/device_functions.h>

#include <memory>
#include <new>

extern "C" {

void* device_malloc(uint64_t bytes) { return diopigenSimMalloc(bytes); }

void device_free(void* ptr) { diopigenSimFree(ptr); }

int32_t device_make_stream(diopiStreamHandle_t* stream) { return diopigenSimCreateStream(stream); }

int32_t device_destroy_stream(diopiStreamHandle_t stream) { return diopigenSimDestroyStream(stream); }

int32_t device_synchronize_stream(diopiStreamHandle_t stream) { return diopigenSimSynchronizeStream(stream); }

int32_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return diopigenSimMemcpyH2DAsync(stream, dst, src, bytes);
}

int32_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return diopigenSimMemcpyD2HAsync(stream, dst, src, bytes);
}

int32_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    return diopigenSimMemcpyD2DAsync(stream, dst, src, bytes);
}

// Weak: a vendor with more to do at these two moments, such as to name its chip, has definitions of its own.
__attribute__((weak)) int32_t initLibrary() { return diopigenRegisterSimulatedDevice(); }

__attribute__((weak)) int32_t finalizeLibrary() { return diopigenFinishSimulatedDevice(); }

// A fresh generator: seed 0, nothing drawn yet.
int32_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
    int64_t count = 0;
    int64_t size = 0;
    void* data = nullptr;
    diopiStreamHandle_t stream = nullptr;
    if (diopiGetTensorNumel(out, &count) != diopiSuccess || diopiGetTensorElemSize(out, &size) != diopiSuccess ||
        diopiGetTensorData(out, &data) != diopiSuccess || diopiGetStream(ctx, &stream) != diopiSuccess) {
        return 1;
    }
    const auto bytes = static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
    const std::unique_ptr<char[]> state(new (std::nothrow) char[bytes]());
    if (state == nullptr) {
        return 1;
    }
    const int32_t status = device_memcpy_h2d_async(stream, data, state.get(), bytes);
    return status != 0 ? status : device_synchronize_stream(stream);
}

}  // extern "C"
