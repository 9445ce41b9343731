// Contexts: the stream, temporaries, copies and the order of freeing.
#include <diopigen/host.h>

#include <cstring>
#include <string>
#include <vector>

#include "scope.h"

TEST_SUITE_BEGIN("context");

using check::ContextScope;
using fake::Function;

TEST_CASE_FIXTURE(check::FakeDevice, "the_stream_is_made_once_and_on_demand") {
    const ContextScope context;
    CHECK_OK(diopiHostSynchronize(context));
    CHECK_EQ(fake::liveStreams(), 0);
    auto first = reinterpret_cast<diopiStreamHandle_t>(uintptr_t{5});
    diopiStreamHandle_t second = nullptr;
    CHECK_OK(diopiGetStream(context, &first));
    // The fake's first stream is a null handle; it must not be taken for "no stream yet".
    CHECK(first == nullptr);
    CHECK_OK(diopiGetStream(context, &second));
    CHECK_EQ(second, first);
    CHECK_EQ(fake::calls(Function::createStream), 1);
    CHECK_OK(diopiHostSynchronize(context));
    CHECK_EQ(fake::calls(Function::synchronize_stream), 1);
}

TEST_CASE_FIXTURE(check::FakeDevice, "each_context_has_its_own_stream") {
    const ContextScope one;
    const ContextScope other;
    diopiStreamHandle_t first = nullptr;
    diopiStreamHandle_t second = nullptr;
    CHECK_OK(diopiGetStream(one, &first));
    CHECK_OK(diopiGetStream(other, &second));
    CHECK(first != second);
    CHECK_EQ(fake::liveStreams(), 2);
}

TEST_CASE_FIXTURE(check::FakeDevice, "temporaries_die_with_the_context") {
    diopiContextHandle_t context = nullptr;
    CHECK_OK(diopiHostCreateContext(&context));
    const std::vector<int64_t> ten = {10};
    const diopiSize_t size = check::sizeOf(ten);
    diopiTensorHandle_t tensor = nullptr;
    for (int index = 0; index < 3; ++index) {
        CHECK_OK(diopiRequireTensor(context, &tensor, &size, nullptr, diopi_dtype_float32, diopi_device));
        CHECK_OK(diopiRequireBuffer(context, &tensor, 100, diopi_host));
    }
    int64_t count = 0;
    CHECK_OK(diopiHostGetTemporaryCount(context, &count));
    CHECK_EQ(count, 6);
    CHECK_EQ(fake::liveAllocations(), 3);
    CHECK_OK(diopiHostDestroyContext(context));
    CHECK_EQ(fake::liveAllocations(), 0);
    // No stream was ever asked for.
    CHECK_EQ(fake::calls(Function::createStream), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "buffers_are_bytes") {
    const ContextScope context;
    diopiTensorHandle_t buffer = nullptr;
    CHECK_OK(diopiRequireBuffer(context, &buffer, 100, diopi_device));
    int64_t numel = 0;
    int64_t elementSize = 0;
    size_t bytes = 0;
    CHECK_OK(diopiGetTensorNumel(buffer, &numel));
    CHECK_OK(diopiGetTensorElemSize(buffer, &elementSize));
    CHECK_OK(diopiGetTensorStorageNbytes(buffer, &bytes));
    CHECK_EQ(numel, 100);
    CHECK_EQ(elementSize, 1);
    CHECK_EQ(bytes, 100u);
    CHECK_OK(diopiRequireBuffer(context, &buffer, 0, diopi_device));
    CHECK_OK(diopiGetTensorNumel(buffer, &numel));
    CHECK_EQ(numel, 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "release_of_one_temporary") {
    const ContextScope context;
    const ContextScope other;
    const diopiTensorHandle_t kept = context.temporary({4}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t released = context.temporary({4}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t made = context.tensor({4}, diopi_dtype_int32, diopi_device);
    CHECK_OK(diopiHostReleaseTemporary(context, released));
    CHECK_EQ(context.temporaryCount(), 1);
    CHECK_EQ(fake::liveAllocations(), 2);
    CHECK_FAILS(diopiHostReleaseTemporary(other, kept), diopiErrorOccurred,
                "diopiHostReleaseTemporary: parameter 'tensor' is not a temporary of this context");
    CHECK_FAILS(diopiHostReleaseTemporary(context, made), diopiErrorOccurred,
                "diopiHostReleaseTemporary: parameter 'tensor' is not a temporary of this context");
    CHECK_FAILS(diopiHostDestroyTensor(kept), diopiErrorOccurred,
                "diopiHostDestroyTensor: parameter 'tensor' is a temporary of a context; "
                "diopiHostReleaseTemporary frees it");
    CHECK_OK(diopiHostDestroyTensor(made));
}

TEST_CASE_FIXTURE(check::FakeDevice, "release_of_all_temporaries") {
    const ContextScope context;
    diopiStreamHandle_t before = nullptr;
    CHECK_OK(diopiGetStream(context, &before));
    CHECK_OK(diopiHostReleaseTemporaries(context));
    CHECK_EQ(fake::calls(Function::synchronize_stream), 0);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiRequireBuffer(context, &tensor, 16, diopi_device));
    CHECK_OK(diopiRequireBuffer(context, &tensor, 16, diopi_host));
    diopiTensorHandle_t view = nullptr;
    const std::vector<int64_t> four = {4};
    const diopiSize_t size = check::sizeOf(four);
    CHECK_OK(diopiHostCreateView(&view, tensor, &size, nullptr, 0, diopi_dtype_int8));
    CHECK_OK(diopiHostReleaseTemporaries(context));
    CHECK_EQ(fake::calls(Function::synchronize_stream), 1);
    CHECK_EQ(fake::liveAllocations(), 0);
    int64_t count = 1;
    CHECK_OK(diopiHostGetTemporaryCount(context, &count));
    CHECK_EQ(count, 0);
    // The stream stays, and so does memory that a view shares.
    diopiStreamHandle_t after = nullptr;
    CHECK_OK(diopiGetStream(context, &after));
    CHECK_EQ(after, before);
    uint64_t bytes = 0;
    CHECK_OK(diopiHostGetLiveBytes(diopi_host, &bytes));
    CHECK_EQ(bytes, 16);
    CHECK_OK(diopiHostDestroyTensor(view));
    CHECK_FAILS(diopiHostReleaseTemporaries(nullptr), diopiErrorOccurred,
                "diopiHostReleaseTemporaries: parameter 'ctx' is null");
}

TEST_CASE_FIXTURE(check::FakeDevice, "memory_is_freed_after_the_work_that_uses_it") {
    const ContextScope context;
    diopiStreamHandle_t stream = nullptr;
    CHECK_OK(diopiGetStream(context, &stream));
    int done = 0;
    const auto fill = [&](diopiTensorHandle_t tensor) {
        void* data = nullptr;
        CHECK_OK(diopiGetTensorData(tensor, &data));
        fake::launch(stream, [data, &done] {
            std::memset(fake::hostAddress(data), 1, 16);  // a use after free would be found by the sanitizer
            ++done;
        });
    };
    // A host temporary matters too: an asynchronous copy may still read it.
    for (const diopiDevice_t device : {diopi_device, diopi_host}) {
        const diopiTensorHandle_t temporary = context.temporary({16}, diopi_dtype_uint8, device);
        fill(temporary);
        CHECK_OK(diopiHostReleaseTemporary(context, temporary));
        const diopiTensorHandle_t tensor = context.tensor({16}, diopi_dtype_uint8, device);
        fill(tensor);
        CHECK_OK(diopiHostDestroyTensor(tensor));
    }
    CHECK_EQ(done, 4);
    fill(context.temporary({16}, diopi_dtype_uint8, diopi_device));
    // The context ends with work pending: main() checks that nothing was freed or ended too early.
}

TEST_CASE_FIXTURE(check::FakeDevice, "tensors_of_the_host_outlive_their_context") {
    diopiContextHandle_t context = nullptr;
    CHECK_OK(diopiHostCreateContext(&context));
    const std::vector<int64_t> two = {2};
    const diopiSize_t size = check::sizeOf(two);
    diopiTensorHandle_t tensor = nullptr;
    diopiTensorHandle_t temporary = nullptr;
    diopiTensorHandle_t view = nullptr;
    CHECK_OK(diopiHostCreateTensor(context, &tensor, &size, nullptr, 0, diopi_dtype_float32, diopi_device));
    CHECK_OK(diopiRequireTensor(context, &temporary, &size, nullptr, diopi_dtype_float32, diopi_device));
    CHECK_OK(diopiHostCreateView(&view, temporary, &size, nullptr, 0, diopi_dtype_float32));
    const float written[2] = {1, 2};
    CHECK_OK(diopiHostCopyToStorage(context, tensor, written, sizeof(written)));
    CHECK_OK(diopiHostDestroyContext(context));
    CHECK_EQ(fake::liveStreams(), 0);
    CHECK_EQ(fake::liveAllocations(), 2);

    const ContextScope next;
    float read[2] = {};
    CHECK_OK(diopiHostCopyFromStorage(next, tensor, read, sizeof(read)));
    CHECK_EQ(read[1], 2.0f);
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK_OK(diopiHostDestroyTensor(view));
    CHECK_EQ(fake::liveAllocations(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "copies_between_all_sides") {
    const ContextScope context;
    const int32_t written[3] = {1, -2, 3};
    int32_t read[3] = {};
    const diopiTensorHandle_t device = context.temporary({3}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t otherDevice = context.temporary({3}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t host = context.temporary({3}, diopi_dtype_int32, diopi_host);
    const diopiTensorHandle_t otherHost = context.temporary({3}, diopi_dtype_int32, diopi_host);
    CHECK_OK(diopiHostCopyToStorage(context, host, written, sizeof(written)));
    CHECK_OK(diopiHostCopyStorage(context, otherHost, host));
    CHECK_OK(diopiHostCopyStorage(context, device, otherHost));
    CHECK_OK(diopiHostCopyStorage(context, otherDevice, device));
    CHECK_OK(diopiHostCopyFromStorage(context, otherDevice, read, sizeof(read)));
    CHECK_EQ(std::memcmp(read, written, sizeof(read)), 0);
    CHECK_EQ(fake::calls(Function::copy_host_to_device), 1);
    CHECK_EQ(fake::calls(Function::copy_device_to_device), 1);
    CHECK_EQ(fake::calls(Function::copy_device_to_host), 1);

    const int32_t second[3] = {7, 8, 9};
    CHECK_OK(diopiHostCopyToStorage(context, device, second, sizeof(second)));
    CHECK_OK(diopiHostCopyStorage(context, host, device));
    CHECK_OK(diopiHostCopyFromStorage(context, host, read, sizeof(read)));
    CHECK_EQ(std::memcmp(read, second, sizeof(read)), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "host_copies_wait_for_the_stream") {
    const ContextScope context;
    const diopiTensorHandle_t host = context.temporary({1}, diopi_dtype_uint8, diopi_host);
    diopiStreamHandle_t stream = nullptr;
    CHECK_OK(diopiGetStream(context, &stream));
    void* data = nullptr;
    CHECK_OK(diopiGetTensorData(host, &data));
    *static_cast<unsigned char*>(data) = 0;
    fake::launch(stream, [data] { *static_cast<unsigned char*>(data) = 42; });
    unsigned char read = 0;
    CHECK_OK(diopiHostCopyFromStorage(context, host, &read, 1));
    CHECK_EQ(static_cast<int>(read), 42);
}

TEST_CASE_FIXTURE(check::FakeDevice, "wrong_copies") {
    const ContextScope context;
    const diopiTensorHandle_t tensor = context.temporary({3}, diopi_dtype_int32, diopi_device);
    const diopiTensorHandle_t smaller = context.temporary({2}, diopi_dtype_int32, diopi_device);
    int32_t bytes[3] = {};
    CHECK_FAILS(diopiHostCopyToStorage(context, tensor, bytes, 11), diopiErrorOccurred,
                "diopiHostCopyToStorage: parameter 'bytes' is 11, the storage has 12 bytes");
    CHECK_FAILS(diopiHostCopyToStorage(context, tensor, nullptr, 12), diopiErrorOccurred,
                "diopiHostCopyToStorage: parameter 'source' is null");
    CHECK_FAILS(diopiHostCopyToStorage(context, nullptr, bytes, 12), diopiErrorOccurred,
                "diopiHostCopyToStorage: parameter 'tensor' is null");
    CHECK_FAILS(diopiHostCopyToStorage(nullptr, tensor, bytes, 12), diopiErrorOccurred,
                "diopiHostCopyToStorage: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostCopyFromStorage(context, tensor, bytes, 13), diopiErrorOccurred,
                "diopiHostCopyFromStorage: parameter 'bytes' is 13, the storage has 12 bytes");
    CHECK_FAILS(diopiHostCopyFromStorage(context, tensor, nullptr, 12), diopiErrorOccurred,
                "diopiHostCopyFromStorage: parameter 'destination' is null");
    CHECK_FAILS(diopiHostCopyFromStorage(context, nullptr, bytes, 12), diopiErrorOccurred,
                "diopiHostCopyFromStorage: parameter 'tensor' is null");
    CHECK_FAILS(diopiHostCopyFromStorage(nullptr, tensor, bytes, 12), diopiErrorOccurred,
                "diopiHostCopyFromStorage: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostCopyStorage(context, tensor, smaller), diopiErrorOccurred,
                "diopiHostCopyStorage: parameter 'destination' has a storage of 12 bytes, "
                "parameter 'source' one of 8 bytes");
    CHECK_FAILS(diopiHostCopyStorage(context, tensor, tensor), diopiErrorOccurred,
                "diopiHostCopyStorage: parameters 'destination' and 'source' have the same storage");
    CHECK_FAILS(diopiHostCopyStorage(context, nullptr, tensor), diopiErrorOccurred,
                "diopiHostCopyStorage: parameter 'destination' is null");
    CHECK_FAILS(diopiHostCopyStorage(context, tensor, nullptr), diopiErrorOccurred,
                "diopiHostCopyStorage: parameter 'source' is null");
    CHECK_FAILS(diopiHostCopyStorage(nullptr, tensor, smaller), diopiErrorOccurred,
                "diopiHostCopyStorage: parameter 'ctx' is null");
    CHECK_EQ(fake::liveStreams(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "null_arguments_of_contexts") {
    const ContextScope context;
    const std::vector<int64_t> one = {1};
    const diopiSize_t size = check::sizeOf(one);
    diopiStreamHandle_t stream = nullptr;
    diopiTensorHandle_t tensor = nullptr;
    int64_t count = 0;
    CHECK_FAILS(diopiHostCreateContext(nullptr), diopiErrorOccurred, "diopiHostCreateContext: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostDestroyContext(nullptr), diopiErrorOccurred,
                "diopiHostDestroyContext: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostSynchronize(nullptr), diopiErrorOccurred, "diopiHostSynchronize: parameter 'ctx' is null");
    CHECK_FAILS(diopiGetStream(nullptr, &stream), diopiErrorOccurred, "diopiGetStream: parameter 'ctx' is null");
    CHECK_FAILS(diopiGetStream(context, nullptr), diopiErrorOccurred, "diopiGetStream: parameter 'stream' is null");
    CHECK_FAILS(diopiRequireTensor(nullptr, &tensor, &size, nullptr, diopi_dtype_int8, diopi_host), diopiErrorOccurred,
                "diopiRequireTensor: parameter 'ctx' is null");
    CHECK_FAILS(diopiRequireTensor(context, nullptr, &size, nullptr, diopi_dtype_int8, diopi_host), diopiErrorOccurred,
                "diopiRequireTensor: parameter 'tensor' is null");
    CHECK_FAILS(diopiRequireBuffer(nullptr, &tensor, 1, diopi_host), diopiErrorOccurred,
                "diopiRequireBuffer: parameter 'ctx' is null");
    CHECK_FAILS(diopiRequireBuffer(context, nullptr, 1, diopi_host), diopiErrorOccurred,
                "diopiRequireBuffer: parameter 'tensor' is null");
    CHECK_FAILS(diopiHostGetTemporaryCount(nullptr, &count), diopiErrorOccurred,
                "diopiHostGetTemporaryCount: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostGetTemporaryCount(context, nullptr), diopiErrorOccurred,
                "diopiHostGetTemporaryCount: parameter 'count' is null");
    CHECK_FAILS(diopiHostReleaseTemporary(nullptr, tensor), diopiErrorOccurred,
                "diopiHostReleaseTemporary: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostReleaseTemporary(context, nullptr), diopiErrorOccurred,
                "diopiHostReleaseTemporary: parameter 'tensor' is null");
    CHECK_EQ(diopiHostGetLastErrorText(nullptr), diopiErrorOccurred);
    CHECK_EQ(check::lastError(), "diopiHostGetLastErrorText: parameter 'text' is null");
}

TEST_SUITE_END();
