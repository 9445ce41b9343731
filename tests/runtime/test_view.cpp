// Several tensors over one storage, and tensors over memory of the caller.
#include <diopigen/host.h>

#include <cstring>
#include <string>
#include <vector>

#include "facts.h"
#include "scope.h"

TEST_SUITE_BEGIN("view");

using check::ContextScope;
using check::Facts;
using check::factsOf;
using check::sizeOf;

namespace {

using Values = std::vector<int64_t>;

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "views_alias_one_storage") {
    const ContextScope context;
    const diopiTensorHandle_t base = context.tensor({48}, diopi_dtype_uint8, diopi_device);
    // Guard zones of 8 bytes before and after 8 floats, and a transposed alias of the same floats.
    const Values floats = {2, 4};
    const Values transposed = {4, 2};
    const Values columns = {1, 4};
    const diopiSize_t floatSize = sizeOf(floats);
    const diopiSize_t transposedSize = sizeOf(transposed);
    const diopiSize_t transposedStride = sizeOf(columns);
    diopiTensorHandle_t view = nullptr;
    diopiTensorHandle_t alias = nullptr;
    CHECK_OK(diopiHostCreateView(&view, base, &floatSize, nullptr, 2, diopi_dtype_float32));
    CHECK_OK(diopiHostCreateView(&alias, view, &transposedSize, &transposedStride, 2, diopi_dtype_float32));
    CHECK_EQ(fake::liveAllocations(), 1);

    const Facts baseFacts = factsOf(base);
    const Facts viewFacts = factsOf(view);
    const Facts aliasFacts = factsOf(alias);
    CHECK_EQ(viewFacts.storage, baseFacts.storage);
    CHECK_EQ(aliasFacts.storage, baseFacts.storage);
    CHECK_EQ(viewFacts.data, aliasFacts.data);
    CHECK_EQ(static_cast<char*>(viewFacts.data) - static_cast<char*>(baseFacts.data), 8);
    CHECK_EQ(viewFacts.bytes, 48u);
    CHECK_EQ(viewFacts.device, diopi_device);
    CHECK_EQ(viewFacts.dtype, diopi_dtype_float32);

    unsigned char written[48];
    for (unsigned char index = 0; index < 48; ++index) {
        written[index] = index;
    }
    unsigned char read[48] = {};
    CHECK_OK(diopiHostCopyToStorage(context, view, written, sizeof(written)));
    // The storage outlives the tensor that made it.
    CHECK_OK(diopiHostDestroyTensor(base));
    CHECK_OK(diopiHostDestroyTensor(view));
    CHECK_EQ(fake::liveAllocations(), 1);
    CHECK_OK(diopiHostCopyFromStorage(context, alias, read, sizeof(read)));
    CHECK_EQ(std::memcmp(read, written, sizeof(read)), 0);
    CHECK_OK(diopiHostDestroyTensor(alias));
    CHECK_EQ(fake::liveAllocations(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "views_end_where_their_storage_ends") {
    const ContextScope context;
    const diopiTensorHandle_t base = context.temporary({8}, diopi_dtype_uint8, diopi_host);
    const Values two = {2};
    const diopiSize_t size = sizeOf(two);
    diopiTensorHandle_t view = nullptr;
    CHECK_OK(diopiHostCreateView(&view, base, &size, nullptr, 0, diopi_dtype_float32));
    CHECK_OK(diopiHostDestroyTensor(view));
    view = nullptr;
    CHECK_FAILS(diopiHostCreateView(&view, base, &size, nullptr, 1, diopi_dtype_float32), diopiErrorOccurred,
                "diopiHostCreateView: the tensor reaches 12 bytes into a storage of 8 bytes");
    CHECK_FAILS(diopiHostCreateView(&view, base, &size, nullptr, -1, diopi_dtype_float32), diopiErrorOccurred,
                "diopiHostCreateView: parameter 'storage_offset' is negative (-1)");
    CHECK_FAILS(diopiHostCreateView(&view, nullptr, &size, nullptr, 0, diopi_dtype_float32), diopiErrorOccurred,
                "diopiHostCreateView: parameter 'base' is null");
    CHECK_FAILS(diopiHostCreateView(nullptr, base, &size, nullptr, 0, diopi_dtype_float32), diopiErrorOccurred,
                "diopiHostCreateView: parameter 'tensor' is null");
    CHECK(view == nullptr);
}

TEST_CASE_FIXTURE(check::FakeDevice, "wrapped_memory_is_used_and_not_freed") {
    const ContextScope context;
    float memory[6] = {0, 1, 2, 3, 4, 5};
    const Values size = {2, 2};
    const diopiSize_t sizes = sizeOf(size);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiHostWrapMemory(context, &tensor, memory, sizeof(memory), &sizes, nullptr, 1, diopi_dtype_float32,
                                 diopi_host));
    const Facts facts = factsOf(tensor);
    CHECK_EQ(facts.storage, static_cast<void*>(memory));
    CHECK_EQ(facts.data, static_cast<void*>(memory + 1));
    CHECK_EQ(facts.bytes, sizeof(memory));
    uint64_t live = 99;
    CHECK_OK(diopiHostGetLiveBytes(diopi_host, &live));
    CHECK_EQ(live, 0u);
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK_EQ(memory[5], 5.0f);

    tensor = nullptr;
    CHECK_FAILS(diopiHostWrapMemory(context, &tensor, memory, 19, &sizes, nullptr, 1, diopi_dtype_float32, diopi_host),
                diopiErrorOccurred, "diopiHostWrapMemory: the tensor reaches 20 bytes into a storage of 19 bytes");
    CHECK_FAILS(diopiHostWrapMemory(context, &tensor, nullptr, 24, &sizes, nullptr, 1, diopi_dtype_float32, diopi_host),
                diopiErrorOccurred, "diopiHostWrapMemory: parameter 'data' is null");
    CHECK_FAILS(diopiHostWrapMemory(context, &tensor, memory, uint64_t{1} << 63, &sizes, nullptr, 1,
                                    diopi_dtype_float32, diopi_host),
                diopiErrorOccurred,
                "diopiHostWrapMemory: parameter 'bytes' is 9223372036854775808, which does not fit into int64");
    CHECK_FAILS(diopiHostWrapMemory(nullptr, &tensor, memory, 24, &sizes, nullptr, 1, diopi_dtype_float32, diopi_host),
                diopiErrorOccurred, "diopiHostWrapMemory: parameter 'ctx' is null");
    CHECK_FAILS(diopiHostWrapMemory(context, nullptr, memory, 24, &sizes, nullptr, 1, diopi_dtype_float32, diopi_host),
                diopiErrorOccurred, "diopiHostWrapMemory: parameter 'tensor' is null");
    CHECK(tensor == nullptr);

    const Values none = {0};
    const diopiSize_t empty = sizeOf(none);
    CHECK_OK(diopiHostWrapMemory(context, &tensor, nullptr, 0, &empty, nullptr, 0, diopi_dtype_float32, diopi_device));
    CHECK(factsOf(tensor).data == nullptr);
    CHECK_OK(diopiHostDestroyTensor(tensor));
}

TEST_CASE_FIXTURE(check::FakeDevice, "a_wrapped_tensor_moves_to_other_memory") {
    const ContextScope context;
    const Values shape = {2, 2};
    const diopiSize_t size = sizeOf(shape);
    float first[4] = {};
    float second[5] = {1, 2, 3, 4, 5};
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiHostWrapMemory(context, &tensor, first, sizeof(first), &size, nullptr, 0, diopi_dtype_float32,
                                 diopi_host));
    CHECK_OK(diopiHostSetWrappedMemory(tensor, second, sizeof(second)));
    const Facts facts = factsOf(tensor);
    CHECK_EQ(facts.data, static_cast<void*>(second));
    CHECK_EQ(facts.bytes, sizeof(second));

    CHECK_FAILS(diopiHostSetWrappedMemory(tensor, first, 12), diopiErrorOccurred,
                "diopiHostSetWrappedMemory: the tensor reaches 16 bytes into a storage of 12 bytes");
    CHECK_FAILS(diopiHostSetWrappedMemory(tensor, nullptr, 16), diopiErrorOccurred,
                "diopiHostSetWrappedMemory: parameter 'data' is null");
    CHECK_FAILS(diopiHostSetWrappedMemory(nullptr, first, 16), diopiErrorOccurred,
                "diopiHostSetWrappedMemory: parameter 'tensor' is null");
    diopiTensorHandle_t view = nullptr;
    CHECK_OK(diopiHostCreateView(&view, tensor, &size, nullptr, 0, diopi_dtype_float32));
    CHECK_FAILS(diopiHostSetWrappedMemory(tensor, first, sizeof(first)), diopiErrorOccurred,
                "diopiHostSetWrappedMemory: parameter 'tensor' is not the only one over memory of the caller");
    CHECK_EQ(factsOf(tensor).data, static_cast<void*>(second));
    CHECK_OK(diopiHostDestroyTensor(view));
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK_FAILS(diopiHostSetWrappedMemory(context.temporary({2}, diopi_dtype_float32, diopi_host), first, 16),
                diopiErrorOccurred,
                "diopiHostSetWrappedMemory: parameter 'tensor' is not the only one over memory of the caller");
}

TEST_CASE_FIXTURE(check::FakeDevice, "memory_belongs_to_the_device_that_was_selected_for_its_context") {
    const ContextScope context;  // of the fake device, which is selected
    uint32_t other = 0;
    uint32_t previous = 7;
    CHECK_OK(diopiHostCreateDevice(&other));
    if (other == 0) {  // the one that there is without a call
        CHECK_OK(diopiHostCreateDevice(&other));
    }
    CHECK_OK(diopiHostSelectDevice(other, &previous));
    CHECK_EQ(previous, 0u);
    const Values shape = {4};
    const diopiSize_t size = sizeOf(shape);
    diopiTensorHandle_t tensor = nullptr;
    diopiContextHandle_t bare = nullptr;
    CHECK_OK(diopiHostCreateContext(&bare));
    CHECK_FAILS(diopiHostCreateTensor(bare, &tensor, &size, nullptr, 0, diopi_dtype_float32, diopi_device),
                diopiNoRegisteredDeviceMemoryMallocFunction,
                "diopiHostCreateTensor: no device function registered through diopiRegisterDeviceMallocFunc");
    CHECK_OK(diopiHostDestroyContext(bare));
    CHECK_OK(diopiHostCreateTensor(context, &tensor, &size, nullptr, 0, diopi_dtype_float32, diopi_device));
    CHECK_EQ(fake::liveAllocations(), 1);
    CHECK_OK(diopiHostDestroyTensor(tensor));
    CHECK_EQ(fake::liveAllocations(), 0);
    CHECK_FAILS(diopiHostSelectDevice(other + 1, nullptr), diopiErrorOccurred,
                "diopiHostSelectDevice: parameter 'device' is " + std::to_string(other + 1) + ", which is no device");
    CHECK_OK(diopiHostSelectDevice(0, nullptr));
}

TEST_SUITE_END();
