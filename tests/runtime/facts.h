// Everything that the accessors say about a dense tensor.
#ifndef DIOPIGEN_TESTS_RUNTIME_FACTS_H_
#define DIOPIGEN_TESTS_RUNTIME_FACTS_H_

#include "check.h"

namespace check {

struct Facts {
    diopiSize_t size{};
    diopiSize_t stride{};
    diopiDtype_t dtype{};
    diopiDevice_t device{};
    diopiDeviceIndex_t deviceIndex = 99;
    int64_t numel = -1;
    int64_t elementSize = -1;
    int64_t offset = -1;
    size_t bytes = 99;
    void* data = nullptr;
    const void* constData = nullptr;
    void* storage = nullptr;
    bool sparse = true;
};

inline Facts factsOf(diopiTensorHandle_t tensor) {
    Facts facts;
    CHECK_OK(diopiGetTensorShape(tensor, &facts.size));
    CHECK_OK(diopiGetTensorStride(tensor, &facts.stride));
    CHECK_OK(diopiGetTensorDtype(tensor, &facts.dtype));
    CHECK_OK(diopiGetTensorDevice(tensor, &facts.device));
    CHECK_OK(diopiGetTensorDeviceIndex(tensor, &facts.deviceIndex));
    CHECK_OK(diopiGetTensorNumel(tensor, &facts.numel));
    CHECK_OK(diopiGetTensorElemSize(tensor, &facts.elementSize));
    CHECK_OK(diopiGetTensorStorageOffset(tensor, &facts.offset));
    CHECK_OK(diopiGetTensorStorageNbytes(tensor, &facts.bytes));
    CHECK_OK(diopiGetTensorData(tensor, &facts.data));
    CHECK_OK(diopiGetTensorDataConst(tensor, &facts.constData));
    CHECK_OK(diopiGetTensorStoragePtr(tensor, &facts.storage));
    CHECK_OK(diopiIsTensorSparse(tensor, &facts.sparse));
    return facts;
}

}  // namespace check

#endif  // DIOPIGEN_TESTS_RUNTIME_FACTS_H_
