// Tensors: what the accessors say, sizes and strides at their limits.
#include <diopigen/host.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "facts.h"
#include "scope.h"

TEST_SUITE_BEGIN("tensor");

using check::ContextScope;
using check::Facts;
using check::factsOf;
using check::sizeOf;
using check::valuesOf;

namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();
using Values = std::vector<int64_t>;

// diopiHostCreateTensor with everything that can be wrong; the tensor stays null on failure.
diopiError_t create(diopiContextHandle_t context, diopiTensorHandle_t* tensor, const Values& size, const Values& stride,
                    int64_t offset, diopiDtype_t dtype, diopiDevice_t device = diopi_host) {
    const diopiSize_t sizes = sizeOf(size);
    const diopiSize_t strides = sizeOf(stride);
    return diopiHostCreateTensor(context, tensor, &sizes, &strides, offset, dtype, device);
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "accessors_of_a_device_tensor") {
    const ContextScope context;
    const Facts facts = factsOf(context.temporary({2, 3, 4}, diopi_dtype_float32, diopi_device));
    CHECK(valuesOf(facts.size) == Values({2, 3, 4}));
    CHECK(valuesOf(facts.stride) == Values({12, 4, 1}));
    CHECK_EQ(facts.dtype, diopi_dtype_float32);
    CHECK_EQ(facts.device, diopi_device);
    CHECK_EQ(static_cast<int>(facts.deviceIndex), 0);
    CHECK_EQ(facts.numel, 24);
    CHECK_EQ(facts.elementSize, 4);
    CHECK_EQ(facts.offset, 0);
    CHECK_EQ(facts.bytes, 96u);
    CHECK(facts.data != nullptr);
    CHECK_EQ(facts.constData, facts.data);
    CHECK_EQ(facts.storage, facts.data);
    CHECK(!facts.sparse);
}

TEST_CASE_FIXTURE(check::FakeDevice, "one_call_says_what_the_accessors_say") {
    const ContextScope context;
    const void* data = nullptr;
    diopiSize_t size{}, stride{};
    int64_t elementSize = 0;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_host;
    bool isSparse = true;
    const auto inspect = [&](diopiConstTensorHandle_t tensor) {
        return diopiHostInspectTensor(tensor, &data, &size, &stride, &elementSize, &dtype, &device, &isSparse);
    };
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(create(context, &tensor, {2, 3}, {1, 4}, 5, diopi_dtype_float16, diopi_device));
    CHECK_OK(inspect(tensor));
    const Facts facts = factsOf(tensor);
    CHECK_EQ(data, facts.constData);
    CHECK(valuesOf(size) == Values({2, 3}));
    CHECK(valuesOf(stride) == Values({1, 4}));
    CHECK_EQ(size.data, facts.size.data);
    CHECK_EQ(elementSize, 2);
    CHECK_EQ(dtype, diopi_dtype_float16);
    CHECK_EQ(device, diopi_device);
    CHECK(!isSparse);
    const Values sides = {3, 4};
    const diopiSize_t matrix = sizeOf(sides);
    diopiTensorHandle_t sparse = nullptr;
    CHECK_OK(diopiHostCreateSparseCsr(&sparse, &matrix, context.temporary({4}, diopi_dtype_int32, diopi_host),
                                      context.temporary({2}, diopi_dtype_int32, diopi_host),
                                      context.temporary({2}, diopi_dtype_float64, diopi_host)));
    CHECK_OK(inspect(sparse));
    CHECK(isSparse);
    CHECK(data == nullptr);
    CHECK(valuesOf(size) == Values({3, 4}));
    CHECK(stride.data == nullptr);
    CHECK_EQ(stride.len, 0);
    CHECK_EQ(dtype, diopi_dtype_float64);
    CHECK_EQ(device, diopi_host);
    CHECK_FAILS(inspect(nullptr), diopiErrorOccurred, "diopiHostInspectTensor: parameter 'tensor' is null");
    CHECK_OK(diopiHostDestroyTensor(sparse));
    CHECK_OK(diopiHostDestroyTensor(tensor));
}

TEST_CASE_FIXTURE(check::FakeDevice, "host_tensors_are_aligned_and_have_no_device_number") {
    const ContextScope context;
    const Facts facts = factsOf(context.temporary({3}, diopi_dtype_int64, diopi_host));
    CHECK_EQ(facts.device, diopi_host);
    CHECK_EQ(static_cast<int>(facts.deviceIndex), -1);
    CHECK_EQ(reinterpret_cast<uintptr_t>(facts.data) % 64, 0u);
    std::memset(facts.data, 1, facts.bytes);  // writable in its whole length: the sanitizer watches
    CHECK_EQ(fake::liveAllocations(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "no_dimensions") {
    const ContextScope context;
    const Facts facts = factsOf(context.temporary({}, diopi_dtype_float64, diopi_host));
    CHECK(facts.size.data == nullptr);
    CHECK_EQ(facts.size.len, 0);
    CHECK(facts.stride.data == nullptr);
    CHECK_EQ(facts.stride.len, 0);
    CHECK_EQ(facts.numel, 1);
    CHECK_EQ(facts.bytes, 8u);
    // Explicit strides of no dimensions, and a length of 0 with a pointer, say the same.
    const Values ignored = {1};
    const diopiSize_t none{ignored.data(), 0};
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiRequireTensor(context, &tensor, &none, &none, diopi_dtype_float64, diopi_host));
    CHECK(factsOf(tensor).size.data == nullptr);
    CHECK_EQ(factsOf(tensor).numel, 1);
}

TEST_CASE_FIXTURE(check::FakeDevice, "empty_tensors") {
    const ContextScope context;
    const Facts facts = factsOf(context.temporary({2, 0, 3}, diopi_dtype_float32, diopi_device));
    CHECK(valuesOf(facts.size) == Values({2, 0, 3}));
    CHECK(valuesOf(facts.stride) == Values({3, 3, 1}));
    CHECK_EQ(facts.numel, 0);
    CHECK_EQ(facts.bytes, 0u);
    CHECK(facts.data == nullptr);
    CHECK(facts.constData == nullptr);
    CHECK(facts.storage == nullptr);
    CHECK_EQ(fake::calls(fake::Function::allocate), 0);
    // Copies of nothing need neither bytes nor a device.
    const diopiTensorHandle_t first = context.temporary({0}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t second = context.temporary({0}, diopi_dtype_float32, diopi_host);
    CHECK_OK(diopiHostCopyToStorage(context, first, nullptr, 0));
    CHECK_OK(diopiHostCopyFromStorage(context, first, nullptr, 0));
    CHECK_OK(diopiHostCopyStorage(context, first, second));
    CHECK_EQ(fake::calls(fake::Function::createStream), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "element_sizes") {
    const struct {
        diopiDtype_t dtype;
        int64_t bytes;
    } expected[] = {
        {diopi_dtype_int8, 1},        {diopi_dtype_uint8, 1},    {diopi_dtype_int16, 2},     {diopi_dtype_uint16, 2},
        {diopi_dtype_int32, 4},       {diopi_dtype_uint32, 4},   {diopi_dtype_int64, 8},     {diopi_dtype_uint64, 8},
        {diopi_dtype_float16, 2},     {diopi_dtype_float32, 4},  {diopi_dtype_float64, 8},   {diopi_dtype_bool, 1},
        {diopi_dtype_bfloat16, 2},    {diopi_dtype_tfloat32, 4}, {diopi_dtype_complex32, 4}, {diopi_dtype_complex64, 8},
        {diopi_dtype_complex128, 16},
    };
    const ContextScope context;
    for (const auto& entry : expected) {
        const Facts facts = factsOf(context.temporary({3}, entry.dtype, diopi_host));
        CHECK_EQ(facts.dtype, entry.dtype);
        CHECK_EQ(facts.elementSize, entry.bytes);
        CHECK_EQ(facts.bytes, static_cast<size_t>(3 * entry.bytes));
    }
}

TEST_CASE_FIXTURE(check::FakeDevice, "unsupported_dtypes") {
    const ContextScope context;
    const Values two = {2};
    const diopiSize_t size = sizeOf(two);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &size, nullptr, diopi_dtype_unsupported, diopi_device),
                diopiDtypeNotSupported, "diopiRequireTensor: dtype 255 has no element size");
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &size, nullptr, static_cast<diopiDtype_t>(99), diopi_device),
                diopiDtypeNotSupported, "diopiRequireTensor: dtype 99 has no element size");
    CHECK_FAILS(create(context, &tensor, {2}, {1}, 0, diopi_dtype_unsupported), diopiDtypeNotSupported,
                "diopiHostCreateTensor: dtype 255 has no element size");
    CHECK(tensor == nullptr);
    CHECK_EQ(fake::calls(fake::Function::allocate), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "strides_and_offset_decide_the_storage") {
    const ContextScope context;
    diopiTensorHandle_t tensor = nullptr;
    // Channels last: {1, 2, 3, 4} with the channels innermost.
    CHECK_OK(create(context, &tensor, {1, 2, 3, 4}, {24, 1, 8, 2}, 0, diopi_dtype_float16));
    CHECK_EQ(factsOf(tensor).bytes, 48u);
    CHECK(valuesOf(factsOf(tensor).stride) == Values({24, 1, 8, 2}));
    CHECK_OK(diopiHostDestroyTensor(tensor));

    // Expanded: one row seen five times.
    CHECK_OK(create(context, &tensor, {5, 3}, {0, 1}, 0, diopi_dtype_float32));
    CHECK_EQ(factsOf(tensor).numel, 15);
    CHECK_EQ(factsOf(tensor).bytes, 12u);
    CHECK_OK(diopiHostDestroyTensor(tensor));

    // Every second element, from the fourth on: elements 3, 5, 7.
    CHECK_OK(create(context, &tensor, {3}, {2}, 3, diopi_dtype_int32));
    Facts facts = factsOf(tensor);
    CHECK_EQ(facts.bytes, 32u);
    CHECK_EQ(facts.offset, 3);
    CHECK_EQ(static_cast<char*>(facts.data) - static_cast<char*>(facts.storage), 12);
    CHECK_EQ(facts.constData, facts.data);
    CHECK_OK(diopiHostDestroyTensor(tensor));

    // An empty tensor reaches its offset and no further.
    CHECK_OK(create(context, &tensor, {0, 7}, {1, 1}, 3, diopi_dtype_int32));
    facts = factsOf(tensor);
    CHECK_EQ(facts.bytes, 12u);
    CHECK_EQ(static_cast<char*>(facts.data) - static_cast<char*>(facts.storage), 12);
    CHECK_OK(diopiHostDestroyTensor(tensor));
}

TEST_CASE_FIXTURE(check::FakeDevice, "temporaries_take_strides_too") {
    const ContextScope context;
    const Values size = {2, 3};
    const Values stride = {1, 2};
    const diopiSize_t sizes = sizeOf(size);
    const diopiSize_t strides = sizeOf(stride);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiRequireTensor(context, &tensor, &sizes, &strides, diopi_dtype_int16, diopi_device));
    CHECK(valuesOf(factsOf(tensor).stride) == stride);
    CHECK_EQ(factsOf(tensor).bytes, 12u);
}

TEST_CASE_FIXTURE(check::FakeDevice, "wrong_sizes_and_strides") {
    const ContextScope context;
    diopiTensorHandle_t tensor = nullptr;
    CHECK_FAILS(create(context, &tensor, {2, -1}, {1, 1}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: parameter 'size' is negative (-1) in dimension 1");
    CHECK_FAILS(create(context, &tensor, {2}, {-3}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: parameter 'stride' is negative (-3) in dimension 0");
    CHECK_FAILS(create(context, &tensor, {2, 3}, {1}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: parameter 'stride' has length 1, parameter 'size' has length 2");
    CHECK_FAILS(create(context, &tensor, {2}, {1}, -1, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: parameter 'storage_offset' is negative (-1)");
    CHECK_FAILS(create(context, &tensor, Values(65, 1), Values(65, 1), 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: parameter 'size' has length 65; 0 to 64 are possible");
    CHECK_OK(create(context, &tensor, Values(64, 1), Values(64, 1), 0, diopi_dtype_int8));
    CHECK_OK(diopiHostDestroyTensor(tensor));

    const diopiSize_t noData{nullptr, 2};
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &noData, nullptr, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiRequireTensor: parameter 'size' has length 2 and null data");
    const diopiSize_t negativeLength{nullptr, -1};
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &negativeLength, nullptr, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiRequireTensor: parameter 'size' has length -1; 0 to 64 are possible");
    CHECK_FAILS(diopiRequireTensor(context, &tensor, nullptr, nullptr, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiRequireTensor: parameter 'size' is null");
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, -5, diopi_host), diopiErrorOccurred,
                "diopiRequireBuffer: parameter 'num_bytes' is negative (-5)");
    CHECK_EQ(context.temporaryCount(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "overflow") {
    const ContextScope context;
    diopiTensorHandle_t tensor = nullptr;
    const int64_t half = int64_t{1} << 32;
    CHECK_FAILS(create(context, &tensor, {half, half}, {1, 1}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: the number of elements does not fit into int64");
    // Few elements, far apart: the product, the sum and the bytes.
    CHECK_FAILS(create(context, &tensor, {3}, {largest}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: the size of the storage does not fit into int64");
    CHECK_FAILS(create(context, &tensor, {2, 2}, {largest - 1, 1}, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: the size of the storage does not fit into int64");
    CHECK_FAILS(create(context, &tensor, {1}, {1}, largest, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateTensor: the size of the storage does not fit into int64");
    CHECK_FAILS(create(context, &tensor, {largest / 4}, {1}, 0, diopi_dtype_float64), diopiErrorOccurred,
                "diopiHostCreateTensor: the size of the storage does not fit into int64");
    // Contiguous strides of an empty tensor can overflow where its elements cannot.
    const Values emptySize = {0, half, half};
    const diopiSize_t empty = sizeOf(emptySize);
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &empty, nullptr, diopi_dtype_int8, diopi_host), diopiErrorOccurred,
                "diopiRequireTensor: a contiguous stride does not fit into int64");
    const Values emptyLast = {half, half, 0};
    const diopiSize_t fits = sizeOf(emptyLast);
    CHECK_OK(diopiRequireTensor(context, &tensor, &fits, nullptr, diopi_dtype_int8, diopi_host));
    CHECK(valuesOf(factsOf(tensor).stride) == Values({half, 1, 1}));
    CHECK_EQ(factsOf(tensor).numel, 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "more_memory_than_there_is") {
    const ContextScope context;
    diopiTensorHandle_t tensor = nullptr;
    const int64_t exabyte = int64_t{1} << 60;
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, exabyte, diopi_host), diopiErrorOccurred,
                "diopiRequireBuffer: out of host memory: 1152921504606846976 bytes");
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, exabyte, diopi_device), diopiErrorOccurred,
                "diopiRequireBuffer: out of device memory: 1152921504606846976 bytes");
    CHECK(tensor == nullptr);
    CHECK_EQ(context.temporaryCount(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "live_bytes_count_both_sides") {
    const ContextScope context;
    uint64_t host = 0;
    uint64_t device = 0;
    const diopiTensorHandle_t first = context.temporary({3}, diopi_dtype_float64, diopi_host);
    context.temporary({5}, diopi_dtype_int16, diopi_device);
    CHECK_OK(diopiHostGetLiveBytes(diopi_host, &host));
    CHECK_OK(diopiHostGetLiveBytes(diopi_device, &device));
    CHECK_EQ(host, 24u);
    CHECK_EQ(device, 10u);
    CHECK_OK(diopiHostReleaseTemporary(context, first));
    CHECK_OK(diopiHostGetLiveBytes(diopi_host, &host));
    CHECK_EQ(host, 0u);
    CHECK_FAILS(diopiHostGetLiveBytes(diopi_host, nullptr), diopiErrorOccurred,
                "diopiHostGetLiveBytes: parameter 'bytes' is null");
}

TEST_CASE_FIXTURE(check::FakeDevice, "null_arguments_of_tensors") {
    const ContextScope context;
    const diopiTensorHandle_t tensor = context.temporary({1}, diopi_dtype_int8, diopi_host);
    void* data = nullptr;
    const void* constData = nullptr;
    diopiSize_t size{};
    diopiDtype_t dtype{};
    diopiDevice_t device{};
    diopiDeviceIndex_t index = 0;
    int64_t number = 0;
    size_t bytes = 0;
    CHECK_FAILS(diopiGetTensorData(nullptr, &data), diopiErrorOccurred, "diopiGetTensorData: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorData(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorData: parameter 'data' is null");
    CHECK_FAILS(diopiGetTensorDataConst(nullptr, &constData), diopiErrorOccurred,
                "diopiGetTensorDataConst: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorDataConst(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorDataConst: parameter 'data' is null");
    CHECK_FAILS(diopiGetTensorShape(nullptr, &size), diopiErrorOccurred, "diopiGetTensorShape: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorShape(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorShape: parameter 'size' is null");
    CHECK_FAILS(diopiGetTensorStride(nullptr, &size), diopiErrorOccurred,
                "diopiGetTensorStride: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorStride(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorStride: parameter 'stride' is null");
    CHECK_FAILS(diopiGetTensorDtype(nullptr, &dtype), diopiErrorOccurred,
                "diopiGetTensorDtype: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorDtype(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorDtype: parameter 'dtype' is null");
    CHECK_FAILS(diopiGetTensorDevice(nullptr, &device), diopiErrorOccurred,
                "diopiGetTensorDevice: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorDevice(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorDevice: parameter 'device' is null");
    CHECK_FAILS(diopiGetTensorNumel(nullptr, &number), diopiErrorOccurred,
                "diopiGetTensorNumel: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorNumel(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorNumel: parameter 'numel' is null");
    CHECK_FAILS(diopiGetTensorElemSize(nullptr, &number), diopiErrorOccurred,
                "diopiGetTensorElemSize: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorElemSize(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorElemSize: parameter 'itemsize' is null");
    CHECK_FAILS(diopiGetTensorStoragePtr(nullptr, &data), diopiErrorOccurred,
                "diopiGetTensorStoragePtr: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorStoragePtr(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorStoragePtr: parameter 'pStoragePtr' is null");
    CHECK_FAILS(diopiGetTensorStorageOffset(nullptr, &number), diopiErrorOccurred,
                "diopiGetTensorStorageOffset: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorStorageOffset(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorStorageOffset: parameter 'pOffset' is null");
    CHECK_FAILS(diopiGetTensorStorageNbytes(nullptr, &bytes), diopiErrorOccurred,
                "diopiGetTensorStorageNbytes: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorStorageNbytes(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorStorageNbytes: parameter 'pNbytes' is null");
    CHECK_FAILS(diopiGetTensorDeviceIndex(nullptr, &index), diopiErrorOccurred,
                "diopiGetTensorDeviceIndex: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorDeviceIndex(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorDeviceIndex: parameter 'pDevIndex' is null");
    CHECK_FAILS(diopiGetCurrentDeviceIndex(nullptr), diopiErrorOccurred,
                "diopiGetCurrentDeviceIndex: parameter 'pDevIndex' is null");
    const Values one = {1};
    const diopiSize_t shape = sizeOf(one);
    diopiTensorHandle_t made = nullptr;
    CHECK_FAILS(diopiHostCreateTensor(nullptr, &made, &shape, nullptr, 0, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiHostCreateTensor: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostCreateTensor(context, nullptr, &shape, nullptr, 0, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiHostCreateTensor: parameter 'tensor' is null");
    CHECK_FAILS(diopiHostCreateTensor(context, &made, nullptr, nullptr, 0, diopi_dtype_int8, diopi_host),
                diopiErrorOccurred, "diopiHostCreateTensor: parameter 'size' is null");
    CHECK_FAILS(diopiHostDestroyTensor(nullptr), diopiErrorOccurred,
                "diopiHostDestroyTensor: parameter 'tensor' is null");
}

TEST_CASE_FIXTURE(check::FakeDevice, "current_device_and_version") {
    diopiDeviceIndex_t index = 99;
    CHECK_OK(diopiGetCurrentDeviceIndex(&index));
    CHECK_EQ(static_cast<int>(index), 0);
    CHECK_EQ(std::string(diopiGetVersion()), "1.1.0");
}

TEST_SUITE_END();
