// Several GPUs, and events.
#include <diopigen/accelerator.h>

#include "diopi_cuda/device.h"
#include "diopi_cuda/memory.h"

// Null where the host is no backend of a framework.
#pragma weak diopigenRegisterAccelerator

namespace diopigen::cuda {

namespace {

cudaStream_t stream_of(diopiStreamHandle_t handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event_of(diopigenEvent_t event) { return static_cast<cudaEvent_t>(event); }

int32_t device_count(int32_t* count) {
    int found = 0;
    const cudaError_t status = cudaGetDeviceCount(&found);
    *count = found;
    return answer(status, "count devices");
}

int32_t set_device(int32_t device) {
    const cudaError_t status = cudaSetDevice(device);
    return answer(status == cudaSuccess ? keep_freed_memory() : status, "choose a device");
}

int32_t create_event(diopigenEvent_t* event) {
    cudaEvent_t created = nullptr;
    const cudaError_t status = cudaEventCreateWithFlags(&created, cudaEventDefault);
    *event = created;
    return answer(status, "create an event");
}

int32_t destroy_event(diopigenEvent_t event) { return answer(cudaEventDestroy(event_of(event)), "destroy an event"); }

int32_t record_event(diopigenEvent_t event, diopiStreamHandle_t stream) {
    return answer(cudaEventRecord(event_of(event), stream_of(stream)), "record an event");
}

int32_t wait_event(diopiStreamHandle_t stream, diopigenEvent_t event) {
    return answer(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "wait for an event");
}

int32_t synchronize_event(diopigenEvent_t event) {
    return answer(cudaEventSynchronize(event_of(event)), "wait for an event");
}

int32_t query_event(diopigenEvent_t event, bool* done) {
    const cudaError_t status = cudaEventQuery(event_of(event));
    *done = status == cudaSuccess;
    if (status == cudaErrorNotReady) {
        cudaGetLastError();  // it is no error, but stays as one
        return 0;
    }
    return answer(status, "ask for an event");
}

int32_t elapsed_time(diopigenEvent_t start, diopigenEvent_t end, double* milliseconds) {
    float measured = 0;
    const cudaError_t status = cudaEventElapsedTime(&measured, event_of(start), event_of(end));
    *milliseconds = static_cast<double>(measured);
    return answer(status, "take the time between two events");
}

int32_t memory_of(int32_t device, uint64_t* available, uint64_t* total) {
    const OnDevice guard(device);
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    const cudaError_t status = guard.status() == cudaSuccess ? memory_info(&free_bytes, &all_bytes) : guard.status();
    *available = free_bytes;
    *total = all_bytes;
    return answer(status, "tell the memory of a device");
}

}  // namespace

int32_t register_accelerator() {
    const diopigenAccelerator_t table = {
        sizeof(diopigenAccelerator_t),
        device_count,
        set_device,
        create_event,
        destroy_event,
        record_event,
        wait_event,
        synchronize_event,
        query_event,
        elapsed_time,
        memory_of,
    };
    return diopigenRegisterAccelerator == nullptr ? 0 : diopigenRegisterAccelerator(&table);
}

}  // namespace diopigen::cuda
