// A vendor's library in miniature, to be loaded after libdiopirt.so: device functions and one operator, diopiFill.
#include <diopi/diopirt.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include <cstdint>

extern "C" diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t input, const diopiScalar_t* value) {
    // A weak function that the host lacks would be null.
    if (diopiGetTensorElemSize == nullptr || diopiRecordStart == nullptr || diopiRecordEnd == nullptr) {
        return diopiNoImplement;
    }
    void* record = nullptr;
    diopiError_t status = diopiRecordStart("diopiFill", &record);
    if (status != diopiSuccess) {
        return status;
    }
    int64_t itemsize = 0;
    int64_t numel = 0;
    void* data = nullptr;
    diopiStreamHandle_t stream = nullptr;
    status = diopiGetTensorElemSize(input, &itemsize);
    status = status == diopiSuccess ? diopiGetTensorNumel(input, &numel) : status;
    status = status == diopiSuccess ? diopiGetTensorData(input, &data) : status;
    status = status == diopiSuccess ? diopiGetStream(ctx, &stream) : status;
    if (status == diopiSuccess && itemsize != static_cast<int64_t>(sizeof(double))) {
        status = diopiDtypeNotSupported;
    }
    if (status == diopiSuccess) {
        for (int64_t index = 0; index < numel; ++index) {
            static_cast<double*>(data)[index] = value->fval;
        }
    }
    const diopiError_t ended = diopiRecordEnd(&record);
    return status == diopiSuccess ? ended : status;
}

int32_t initLibrary(void) { return diopigenRegisterHostDevice(); }

int32_t finalizeLibrary(void) { return 0; }
