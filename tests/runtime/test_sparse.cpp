// Sparse CSR tensors.
#include <diopigen/host.h>

#include <limits>
#include <vector>

#include "scope.h"

TEST_SUITE_BEGIN("sparse");

using check::ContextScope;
using check::sizeOf;
using check::valuesOf;

namespace {

using Values = std::vector<int64_t>;

struct Parts {
    diopiTensorHandle_t crow;
    diopiTensorHandle_t col;
    diopiTensorHandle_t values;
};

// A 3 x 4 matrix with five values.
Parts makeParts(const ContextScope& context, diopiDevice_t device = diopi_device) {
    return {context.tensor({4}, diopi_dtype_int32, device), context.tensor({5}, diopi_dtype_int32, device),
            context.tensor({5}, diopi_dtype_float64, device)};
}

void destroy(const Parts& parts) {
    CHECK_OK(diopiHostDestroyTensor(parts.crow));
    CHECK_OK(diopiHostDestroyTensor(parts.col));
    CHECK_OK(diopiHostDestroyTensor(parts.values));
}

diopiError_t create(diopiTensorHandle_t* tensor, const Values& size, diopiConstTensorHandle_t crow,
                    diopiConstTensorHandle_t col, diopiConstTensorHandle_t values) {
    const diopiSize_t sizes = sizeOf(size);
    return diopiHostCreateSparseCsr(tensor, &sizes, crow, col, values);
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "accessors") {
    const ContextScope context;
    const Parts parts = makeParts(context);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(create(&tensor, {3, 4}, parts.crow, parts.col, parts.values));
    void* crowData = nullptr;
    CHECK_OK(diopiGetTensorData(parts.crow, &crowData));
    // The storages live on in the sparse tensor.
    destroy(parts);
    CHECK_EQ(fake::liveAllocations(), 3);

    bool sparse = false;
    diopiSize_t size{};
    diopiDtype_t dtype{};
    diopiDevice_t device = diopi_host;
    diopiDeviceIndex_t index = 99;
    int64_t number = 0;
    CHECK_OK(diopiIsTensorSparse(tensor, &sparse));
    CHECK(sparse);
    CHECK_OK(diopiGetTensorShape(tensor, &size));
    CHECK(valuesOf(size) == Values({3, 4}));
    CHECK_OK(diopiGetTensorNumel(tensor, &number));
    CHECK_EQ(number, 12);
    CHECK_OK(diopiGetTensorElemSize(tensor, &number));
    CHECK_EQ(number, 8);
    CHECK_OK(diopiGetTensorDtype(tensor, &dtype));
    CHECK_EQ(dtype, diopi_dtype_float64);
    CHECK_OK(diopiGetTensorDevice(tensor, &device));
    CHECK_EQ(device, diopi_device);
    CHECK_OK(diopiGetTensorDeviceIndex(tensor, &index));
    CHECK_EQ(static_cast<int>(index), 0);

    diopiConstTensorHandle_t crow = nullptr;
    diopiConstTensorHandle_t col = nullptr;
    diopiConstTensorHandle_t values = nullptr;
    CHECK_OK(diopiGetTensorCrowIndices(tensor, &crow));
    CHECK_OK(diopiGetTensorColIndices(tensor, &col));
    CHECK_OK(diopiGetTensorValues(tensor, &values));
    const void* data = nullptr;
    CHECK_OK(diopiGetTensorDataConst(crow, &data));
    CHECK_EQ(data, crowData);
    CHECK_OK(diopiGetTensorNumel(crow, &number));
    CHECK_EQ(number, 4);
    CHECK_OK(diopiGetTensorDtype(col, &dtype));
    CHECK_EQ(dtype, diopi_dtype_int32);
    CHECK_OK(diopiGetTensorDtype(values, &dtype));
    CHECK_EQ(dtype, diopi_dtype_float64);

    fake::registerAllBut(fake::Function::free);
    CHECK_EQ(diopiHostDestroyTensor(tensor), diopiNoRegisteredDeviceMemoryFreeFunction);
    fake::registerAll();
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK_EQ(fake::liveAllocations(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "parts_are_freed_after_the_work_that_uses_them") {
    const ContextScope context;
    const Parts parts = makeParts(context);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(create(&tensor, {3, 4}, parts.crow, parts.col, parts.values));
    destroy(parts);
    diopiStreamHandle_t stream = nullptr;
    CHECK_OK(diopiGetStream(context, &stream));
    bool done = false;
    fake::launch(stream, [&done] { done = true; });
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK(done);
}

TEST_CASE_FIXTURE(check::FakeDevice, "a_sparse_tensor_has_no_storage") {
    const ContextScope context;
    const Parts parts = makeParts(context);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(create(&tensor, {3, 4}, parts.crow, parts.col, parts.values));
    void* data = nullptr;
    const void* constData = nullptr;
    diopiSize_t stride{};
    int64_t number = 0;
    size_t bytes = 0;
    const std::string why = "' is a sparse tensor, which has no storage and no strides; ask for its indices and values";
    CHECK_FAILS(diopiGetTensorData(tensor, &data), diopiErrorOccurred, "diopiGetTensorData: parameter 'th" + why);
    CHECK_FAILS(diopiGetTensorDataConst(tensor, &constData), diopiErrorOccurred,
                "diopiGetTensorDataConst: parameter 'th" + why);
    CHECK_FAILS(diopiGetTensorStride(tensor, &stride), diopiErrorOccurred, "diopiGetTensorStride: parameter 'th" + why);
    CHECK_FAILS(diopiGetTensorStoragePtr(tensor, &data), diopiErrorOccurred,
                "diopiGetTensorStoragePtr: parameter 'th" + why);
    CHECK_FAILS(diopiGetTensorStorageOffset(tensor, &number), diopiErrorOccurred,
                "diopiGetTensorStorageOffset: parameter 'th" + why);
    CHECK_FAILS(diopiGetTensorStorageNbytes(tensor, &bytes), diopiErrorOccurred,
                "diopiGetTensorStorageNbytes: parameter 'th" + why);
    CHECK_FAILS(diopiHostCopyFromStorage(context, tensor, data, 0), diopiErrorOccurred,
                "diopiHostCopyFromStorage: parameter 'tensor" + why);
    diopiTensorHandle_t view = nullptr;
    const Values one = {1};
    const diopiSize_t size = sizeOf(one);
    CHECK_FAILS(diopiHostCreateView(&view, tensor, &size, nullptr, 0, diopi_dtype_int8), diopiErrorOccurred,
                "diopiHostCreateView: parameter 'base" + why);
    diopiTensorHandle_t nested = nullptr;
    CHECK_FAILS(create(&nested, {3, 4}, parts.crow, parts.col, tensor), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'values" + why);
    CHECK_OK(diopiHostDestroyTensor(tensor));
    destroy(parts);
}

TEST_CASE_FIXTURE(check::FakeDevice, "dense_tensors_have_no_parts") {
    const ContextScope context;
    const diopiTensorHandle_t dense = context.temporary({2, 2}, diopi_dtype_float32, diopi_host);
    diopiConstTensorHandle_t part = nullptr;
    bool sparse = true;
    CHECK_OK(diopiIsTensorSparse(dense, &sparse));
    CHECK(!sparse);
    CHECK_FAILS(diopiGetTensorCrowIndices(dense, &part), diopiErrorOccurred,
                "diopiGetTensorCrowIndices: parameter 'th' is not a sparse tensor");
    CHECK_FAILS(diopiGetTensorColIndices(dense, &part), diopiErrorOccurred,
                "diopiGetTensorColIndices: parameter 'th' is not a sparse tensor");
    CHECK_FAILS(diopiGetTensorValues(dense, &part), diopiErrorOccurred,
                "diopiGetTensorValues: parameter 'th' is not a sparse tensor");
    CHECK(part == nullptr);
}

TEST_CASE_FIXTURE(check::FakeDevice, "parts_that_do_not_fit") {
    const ContextScope context;
    const Parts parts = makeParts(context);
    const diopiTensorHandle_t matrix = context.temporary({5, 1}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t four = context.temporary({4}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t none = context.temporary({0}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t longIndices = context.temporary({5}, diopi_dtype_int64, diopi_device);
    const diopiTensorHandle_t floatIndices = context.temporary({4}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t on_host = context.temporary({5}, diopi_dtype_int32, diopi_host);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_FAILS(create(&tensor, {3}, parts.crow, parts.col, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'size' has length 1 instead of 2");
    CHECK_FAILS(create(&tensor, {4, 4}, parts.crow, parts.col, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'crow_indices' has 4 elements for 4 rows; "
                "it needs one more than rows");
    CHECK_FAILS(create(&tensor, {std::numeric_limits<int64_t>::max(), 1}, none, parts.col, parts.values),
                diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'crow_indices' has 0 elements for 9223372036854775807 rows; "
                "it needs one more than rows");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, matrix, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'col_indices' has 2 dimensions instead of 1");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, four, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'col_indices' has 4 elements, parameter 'values' has 5");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, longIndices, parts.values), diopiDtypeNotSupported,
                "diopiHostCreateSparseCsr: parameters 'crow_indices' and 'col_indices' are neither both int32 nor "
                "both int64");
    CHECK_FAILS(create(&tensor, {3, 4}, floatIndices, parts.col, parts.values), diopiDtypeNotSupported,
                "diopiHostCreateSparseCsr: parameters 'crow_indices' and 'col_indices' are neither both int32 nor "
                "both int64");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, on_host, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameters 'crow_indices', 'col_indices' and 'values' are not on one "
                "device");
    CHECK(tensor == nullptr);
    destroy(parts);
}

TEST_CASE_FIXTURE(check::FakeDevice, "null_arguments_of_sparse_tensors") {
    const ContextScope context;
    const Parts parts = makeParts(context, diopi_host);
    diopiTensorHandle_t tensor = nullptr;
    diopiConstTensorHandle_t part = nullptr;
    bool flag = false;
    CHECK_FAILS(create(nullptr, {3, 4}, parts.crow, parts.col, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'tensor' is null");
    CHECK_FAILS(create(&tensor, {3, 4}, nullptr, parts.col, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'crow_indices' is null");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, nullptr, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'col_indices' is null");
    CHECK_FAILS(create(&tensor, {3, 4}, parts.crow, parts.col, nullptr), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'values' is null");
    CHECK_FAILS(diopiHostCreateSparseCsr(&tensor, nullptr, parts.crow, parts.col, parts.values), diopiErrorOccurred,
                "diopiHostCreateSparseCsr: parameter 'size' is null");
    CHECK_OK(create(&tensor, {3, 4}, parts.crow, parts.col, parts.values));
    CHECK_FAILS(diopiIsTensorSparse(nullptr, &flag), diopiErrorOccurred, "diopiIsTensorSparse: parameter 'th' is null");
    CHECK_FAILS(diopiIsTensorSparse(tensor, nullptr), diopiErrorOccurred,
                "diopiIsTensorSparse: parameter 'is_sparse' is null");
    CHECK_FAILS(diopiGetTensorCrowIndices(nullptr, &part), diopiErrorOccurred,
                "diopiGetTensorCrowIndices: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorCrowIndices(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorCrowIndices: parameter 'crow_indices' is null");
    CHECK_FAILS(diopiGetTensorColIndices(nullptr, &part), diopiErrorOccurred,
                "diopiGetTensorColIndices: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorColIndices(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorColIndices: parameter 'col_indices' is null");
    CHECK_FAILS(diopiGetTensorValues(nullptr, &part), diopiErrorOccurred,
                "diopiGetTensorValues: parameter 'th' is null");
    CHECK_FAILS(diopiGetTensorValues(tensor, nullptr), diopiErrorOccurred,
                "diopiGetTensorValues: parameter 'values' is null");
    CHECK_OK(diopiHostDestroyTensor(tensor));
    destroy(parts);
}

TEST_SUITE_END();
