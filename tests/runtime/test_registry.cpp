// Registration, and what happens when each device function in turn is missing or fails.
#include <diopigen/device.h>

#include <stdexcept>
#include <string>

#include "scope.h"

TEST_SUITE_BEGIN("registry");

using check::ContextScope;
using fake::Function;

namespace {

diopiContextHandle_t newContext() {
    diopiContextHandle_t context = nullptr;
    CHECK_OK(diopiHostCreateContext(&context));
    return context;
}

void makeStream(diopiContextHandle_t context) {
    diopiStreamHandle_t stream = nullptr;
    CHECK_OK(diopiGetStream(context, &stream));
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "null_functions_are_refused_and_change_nothing") {
    CHECK(diopiRegisterDeviceMallocFunc(nullptr) != 0);
    CHECK(diopiRegisterDevMemFreeFunc(nullptr) != 0);
    CHECK(diopiRegisterStreamCreateFunc(nullptr) != 0);
    CHECK(diopiRegisterStreamDestroyFunc(nullptr) != 0);
    CHECK(diopiRegisterSynchronizeStreamFunc(nullptr) != 0);
    CHECK(diopiRegisterMemcpyH2DAsyncFunc(nullptr) != 0);
    CHECK(diopiRegisterMemcpyD2HAsyncFunc(nullptr) != 0);
    CHECK(diopiRegisterMemcpyD2DAsyncFunc(nullptr) != 0);
    CHECK(diopiRegisterGetLastErrorFunc(nullptr) != 0);
    // The fake's functions are still there.
    const ContextScope context;
    makeStream(context);
    context.temporary({4}, diopi_dtype_float32, diopi_device);
    CHECK_EQ(fake::liveAllocations(), 1);
}

TEST_CASE_FIXTURE(check::FakeDevice, "registration_succeeds_with_zero") {
    CHECK_EQ(diopiRegisterDeviceMallocFunc([](uint64_t) -> void* { return nullptr; }), 0);
    CHECK_EQ(diopiRegisterDevMemFreeFunc([](void*) {}), 0);
    CHECK_EQ(diopiRegisterStreamCreateFunc([](diopiStreamHandle_t*) { return 0; }), 0);
    CHECK_EQ(diopiRegisterStreamDestroyFunc([](diopiStreamHandle_t) { return 0; }), 0);
    CHECK_EQ(diopiRegisterSynchronizeStreamFunc([](diopiStreamHandle_t) { return 0; }), 0);
    const auto copy = [](diopiStreamHandle_t, void*, const void*, uint64_t) { return 0; };
    CHECK_EQ(diopiRegisterMemcpyH2DAsyncFunc(copy), 0);
    CHECK_EQ(diopiRegisterMemcpyD2HAsyncFunc(copy), 0);
    CHECK_EQ(diopiRegisterMemcpyD2DAsyncFunc(copy), 0);
    CHECK_EQ(diopiRegisterGetLastErrorFunc([]() -> const char* { return "text"; }), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "reset_forgets_functions_and_error_text") {
    const ContextScope context;
    CHECK(diopiGetStream(nullptr, nullptr) != diopiSuccess);
    CHECK_OK(diopiHostReset());
    CHECK_EQ(check::lastError(), "");
    diopiStreamHandle_t stream = nullptr;
    CHECK_EQ(diopiGetStream(context, &stream), diopiNoRegisteredStreamCreateFunction);
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_stream_create") {
    const ContextScope context;
    const diopiTensorHandle_t tensor = context.temporary({2}, diopi_dtype_float32, diopi_device);
    fake::registerAllBut(Function::createStream);
    auto stream = reinterpret_cast<diopiStreamHandle_t>(uintptr_t{5});
    CHECK_FAILS(diopiGetStream(context, &stream), diopiNoRegisteredStreamCreateFunction,
                "diopiGetStream: no device function registered through diopiRegisterStreamCreateFunc");
    CHECK(stream == reinterpret_cast<diopiStreamHandle_t>(uintptr_t{5}));
    float values[2] = {1, 2};
    CHECK_FAILS(diopiHostCopyToStorage(context, tensor, values, sizeof(values)), diopiNoRegisteredStreamCreateFunction,
                "diopiHostCopyToStorage: no device function registered through diopiRegisterStreamCreateFunc");
    CHECK_EQ(fake::calls(Function::copy_host_to_device), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_stream_destroy") {
    const diopiContextHandle_t context = newContext();
    makeStream(context);
    fake::registerAllBut(Function::destroyStream);
    CHECK_FAILS(diopiHostDestroyContext(context), diopiNoRegisteredStreamDestoryFunction,
                "diopiHostDestroyContext: no device function registered through diopiRegisterStreamDestroyFunc");
    CHECK_EQ(fake::calls(Function::synchronize_stream), 0);
    CHECK_EQ(fake::liveStreams(), 1);
    fake::registerAll();
    CHECK_OK(diopiHostDestroyContext(context));
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_stream_synchronize") {
    const ContextScope context;
    const diopiTensorHandle_t temporary = context.temporary({2}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t tensor = context.tensor({2}, diopi_dtype_float32, diopi_device);
    float values[2] = {1, 2};
    fake::registerAllBut(Function::synchronize_stream);
    // Found before the stream is made for the copy.
    CHECK_FAILS(diopiHostCopyToStorage(context, tensor, values, sizeof(values)), diopiNoRegisteredStreamSyncFunction,
                "diopiHostCopyToStorage: no device function registered through diopiRegisterSynchronizeStreamFunc");
    CHECK_EQ(fake::liveStreams(), 0);
    // Without a stream there is nothing to wait for.
    CHECK_OK(diopiHostSynchronize(context));
    makeStream(context);
    CHECK_FAILS(diopiHostSynchronize(context), diopiNoRegisteredStreamSyncFunction,
                "diopiHostSynchronize: no device function registered through diopiRegisterSynchronizeStreamFunc");
    CHECK_FAILS(diopiHostReleaseTemporary(context, temporary), diopiNoRegisteredStreamSyncFunction,
                "diopiHostReleaseTemporary: no device function registered through diopiRegisterSynchronizeStreamFunc");
    CHECK_FAILS(diopiHostDestroyTensor(tensor), diopiNoRegisteredStreamSyncFunction,
                "diopiHostDestroyTensor: no device function registered through diopiRegisterSynchronizeStreamFunc");
    CHECK_FAILS(diopiHostDestroyContext(context), diopiNoRegisteredStreamSyncFunction,
                "diopiHostDestroyContext: no device function registered through diopiRegisterSynchronizeStreamFunc");
    CHECK_EQ(context.temporaryCount(), 1);
    CHECK_EQ(fake::liveAllocations(), 2);
    CHECK_EQ(fake::liveStreams(), 1);
    fake::registerAll();
    CHECK_OK(diopiHostDestroyTensor(tensor));
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_malloc") {
    const ContextScope context;
    fake::registerAllBut(Function::allocate);
    const std::vector<int64_t> two = {2};
    const diopiSize_t size = check::sizeOf(two);
    auto tensor = reinterpret_cast<diopiTensorHandle_t>(uintptr_t{8});
    CHECK_FAILS(diopiRequireTensor(context, &tensor, &size, nullptr, diopi_dtype_float32, diopi_device),
                diopiNoRegisteredDeviceMemoryMallocFunction,
                "diopiRequireTensor: no device function registered through diopiRegisterDeviceMallocFunc");
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, 16, diopi_device), diopiNoRegisteredDeviceMemoryMallocFunction,
                "diopiRequireBuffer: no device function registered through diopiRegisterDeviceMallocFunc");
    CHECK_FAILS(diopiHostCreateTensor(context, &tensor, &size, nullptr, 0, diopi_dtype_int8, diopi_device),
                diopiNoRegisteredDeviceMemoryMallocFunction,
                "diopiHostCreateTensor: no device function registered through diopiRegisterDeviceMallocFunc");
    CHECK(tensor == reinterpret_cast<diopiTensorHandle_t>(uintptr_t{8}));
    CHECK_EQ(context.temporaryCount(), 0);
    // The host's memory and empty tensors need no device.
    context.temporary({2}, diopi_dtype_float32, diopi_host);
    context.temporary({0}, diopi_dtype_float32, diopi_device);
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_free") {
    const ContextScope context;
    const diopiTensorHandle_t temporary = context.temporary({2}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t tensor = context.tensor({2}, diopi_dtype_float32, diopi_device);
    makeStream(context);
    fake::registerAllBut(Function::free);
    CHECK_FAILS(diopiHostReleaseTemporary(context, temporary), diopiNoRegisteredDeviceMemoryFreeFunction,
                "diopiHostReleaseTemporary: no device function registered through diopiRegisterDevMemFreeFunc");
    CHECK_FAILS(diopiHostDestroyTensor(tensor), diopiNoRegisteredDeviceMemoryFreeFunction,
                "diopiHostDestroyTensor: no device function registered through diopiRegisterDevMemFreeFunc");
    CHECK_FAILS(diopiHostDestroyContext(context), diopiNoRegisteredDeviceMemoryFreeFunction,
                "diopiHostDestroyContext: no device function registered through diopiRegisterDevMemFreeFunc");
    CHECK_EQ(fake::calls(Function::synchronize_stream), 0);
    CHECK_EQ(fake::calls(Function::destroyStream), 0);
    CHECK_EQ(context.temporaryCount(), 1);
    fake::registerAll();
    CHECK_OK(diopiHostDestroyTensor(tensor));
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_copies") {
    const ContextScope context;
    const diopiTensorHandle_t device = context.temporary({2}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t other = context.temporary({2}, diopi_dtype_float32, diopi_device);
    const diopiTensorHandle_t host = context.temporary({2}, diopi_dtype_float32, diopi_host);
    float values[2] = {1, 2};

    fake::registerAllBut(Function::copy_host_to_device);
    CHECK_FAILS(diopiHostCopyToStorage(context, device, values, sizeof(values)),
                diopiNoRegisteredHost2DeviceMemoryCopyFunction,
                "diopiHostCopyToStorage: no device function registered through diopiRegisterMemcpyH2DAsyncFunc");
    CHECK_FAILS(diopiHostCopyStorage(context, device, host), diopiNoRegisteredHost2DeviceMemoryCopyFunction,
                "diopiHostCopyStorage: no device function registered through diopiRegisterMemcpyH2DAsyncFunc");

    fake::registerAllBut(Function::copy_device_to_host);
    CHECK_FAILS(diopiHostCopyFromStorage(context, device, values, sizeof(values)),
                diopiNoRegisteredDevice2HostMemoryCopyFunction,
                "diopiHostCopyFromStorage: no device function registered through diopiRegisterMemcpyD2HAsyncFunc");
    CHECK_FAILS(diopiHostCopyStorage(context, host, device), diopiNoRegisteredDevice2HostMemoryCopyFunction,
                "diopiHostCopyStorage: no device function registered through diopiRegisterMemcpyD2HAsyncFunc");

    fake::registerAllBut(Function::copy_device_to_device);
    CHECK_FAILS(diopiHostCopyStorage(context, device, other), diopiNoRegisteredDevice2DdeviceMemoryCopyFunction,
                "diopiHostCopyStorage: no device function registered through diopiRegisterMemcpyD2DAsyncFunc");

    CHECK_EQ(fake::calls(Function::createStream), 0);
    CHECK_EQ(values[0], 1.0f);
}

TEST_CASE_FIXTURE(check::FakeDevice, "missing_error_string") {
    const char* text = "unchanged";
    fake::registerAllBut(Function::get_last_error_string);
    CHECK_FAILS(diopiHostGetDeviceErrorText(&text), diopiNoRegisteredGetLastErrorFunction,
                "diopiHostGetDeviceErrorText: no device function registered through diopiRegisterGetLastErrorFunc");
    CHECK_EQ(std::string(text), "unchanged");
    // A failure is then reported without the device's words.
    const ContextScope context;
    fake::breakFunction(Function::createStream, "not asked for");
    diopiStreamHandle_t stream = nullptr;
    CHECK_FAILS(diopiGetStream(context, &stream), diopiErrorOccurred,
                "diopiGetStream: the device could not create a stream (code 7)");
}

TEST_CASE_FIXTURE(check::FakeDevice, "device_error_text") {
    const char* text = nullptr;
    CHECK_OK(diopiHostGetDeviceErrorText(&text));
    CHECK_EQ(std::string(text), "");
    fake::breakFunction(Function::createStream, "no more queues");
    CHECK_OK(diopiHostGetDeviceErrorText(&text));
    CHECK_EQ(std::string(text), "no more queues");
    CHECK_FAILS(diopiHostGetDeviceErrorText(nullptr), diopiErrorOccurred,
                "diopiHostGetDeviceErrorText: parameter 'text' is null");
}

TEST_CASE_FIXTURE(check::FakeDevice, "failing_functions_are_quoted_and_leave_all_in_place") {
    const ContextScope context;
    float values[2] = {1, 2};
    diopiTensorHandle_t tensor = nullptr;
    diopiStreamHandle_t stream = nullptr;

    fake::breakFunction(Function::allocate, "fragmented");
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, 16, diopi_device), diopiErrorOccurred,
                "diopiRequireBuffer: out of device memory: 16 bytes: fragmented");
    CHECK(tensor == nullptr);
    CHECK_EQ(context.temporaryCount(), 0);

    fake::registerAll();
    tensor = context.temporary({2}, diopi_dtype_float32, diopi_device);
    fake::breakFunction(Function::createStream, "no more queues");
    CHECK_FAILS(diopiGetStream(context, &stream), diopiErrorOccurred,
                "diopiGetStream: the device could not create a stream (code 7): no more queues");

    fake::registerAll();
    CHECK_OK(diopiGetStream(context, &stream));
    fake::breakFunction(Function::copy_host_to_device, "bus error");
    CHECK_FAILS(diopiHostCopyToStorage(context, tensor, values, sizeof(values)), diopiErrorOccurred,
                "diopiHostCopyToStorage: the device could not copy memory (code 7): bus error");

    fake::registerAll();
    fake::breakFunction(Function::synchronize_stream, "kernel fault");
    CHECK_FAILS(diopiHostSynchronize(context), diopiErrorOccurred,
                "diopiHostSynchronize: the device could not synchronise a stream (code 7): kernel fault");
    CHECK_FAILS(diopiHostReleaseTemporary(context, tensor), diopiErrorOccurred,
                "diopiHostReleaseTemporary: the device could not synchronise a stream (code 7): kernel fault");
    CHECK_FAILS(diopiHostDestroyContext(context), diopiErrorOccurred,
                "diopiHostDestroyContext: the device could not synchronise a stream (code 7): kernel fault");

    fake::registerAll();
    fake::breakFunction(Function::destroyStream, "busy");
    CHECK_FAILS(diopiHostDestroyContext(context), diopiErrorOccurred,
                "diopiHostDestroyContext: the device could not destroy a stream (code 7): busy");
    CHECK_EQ(context.temporaryCount(), 1);
    CHECK_EQ(fake::liveAllocations(), 1);
    CHECK_EQ(fake::calls(Function::free), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "exceptions_of_a_device_become_a_status") {
    const ContextScope context;
    diopiRegisterStreamCreateFunc([](diopiStreamHandle_t*) -> int32_t { throw std::string("boom"); });
    diopiRegisterDeviceMallocFunc([](uint64_t) -> void* { throw std::bad_alloc(); });
    diopiStreamHandle_t stream = nullptr;
    CHECK_FAILS(diopiGetStream(context, &stream), diopiErrorOccurred, "diopiGetStream: unknown exception");
    diopiTensorHandle_t tensor = nullptr;
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, 1, diopi_device), diopiErrorOccurred,
                "diopiRequireBuffer: out of host memory");
    diopiRegisterDeviceMallocFunc([](uint64_t) -> void* { throw std::runtime_error("odd vendor"); });
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, 1, diopi_device), diopiErrorOccurred,
                "diopiRequireBuffer: odd vendor");
}

TEST_CASE_FIXTURE(check::FakeDevice, "long_error_texts_are_cut") {
    diopiRegisterStreamCreateFunc(
        [](diopiStreamHandle_t*) -> int32_t { throw std::runtime_error(std::string(5000, 'x')); });
    const ContextScope context;
    diopiStreamHandle_t stream = nullptr;
    CHECK_EQ(diopiGetStream(context, &stream), diopiErrorOccurred);
    CHECK_EQ(check::lastError().size(), 1023u);
}

TEST_SUITE_END();
