// Generators: seed, offset and the state tensor.
#include <diopigen/host.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "scope.h"

TEST_SUITE_BEGIN("generator");

using check::ContextScope;

namespace {

class GeneratorScope {
  public:
    GeneratorScope(uint64_t seed, uint64_t offset) { CHECK_OK(diopiHostCreateGenerator(&handle_, seed, offset)); }
    ~GeneratorScope() { CHECK_OK(diopiHostDestroyGenerator(handle_)); }
    GeneratorScope(const GeneratorScope&) = delete;
    GeneratorScope& operator=(const GeneratorScope&) = delete;
    operator diopiGeneratorHandle_t() const { return handle_; }

    void checkIs(uint64_t seed, uint64_t offset) const {
        uint64_t actualSeed = ~seed;
        uint64_t actualOffset = ~offset;
        CHECK_OK(diopiGeneratorGetSeedAndOffset(handle_, &actualSeed, &actualOffset));
        CHECK_EQ(actualSeed, seed);
        CHECK_EQ(actualOffset, offset);
    }

  private:
    diopiGeneratorHandle_t handle_ = nullptr;
};

constexpr uint64_t largest = std::numeric_limits<uint64_t>::max();

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "seed_and_offset") {
    const GeneratorScope generator(42, 7);
    generator.checkIs(42, 7);
    CHECK_OK(diopiGeneratorSetSeedAndOffset(generator, largest, 0));
    generator.checkIs(largest, 0);
    CHECK_OK(diopiGeneratorSetSeedAndOffset(generator, 0, largest));
    generator.checkIs(0, largest);
}

TEST_CASE_FIXTURE(check::FakeDevice, "state_goes_to_a_tensor_and_back") {
    const ContextScope context;
    const GeneratorScope source(0x0102030405060708, 99);
    const GeneratorScope target(1, 1);
    diopiTensorHandle_t state = nullptr;
    CHECK_OK(diopiGeneratorGetState(context, source, &state));
    CHECK_EQ(context.temporaryCount(), 1);

    diopiDtype_t dtype{};
    diopiDevice_t device{};
    diopiSize_t size{};
    const void* data = nullptr;
    CHECK_OK(diopiGetTensorDtype(state, &dtype));
    CHECK_OK(diopiGetTensorDevice(state, &device));
    CHECK_OK(diopiGetTensorShape(state, &size));
    CHECK_OK(diopiGetTensorDataConst(state, &data));
    CHECK_EQ(dtype, diopi_dtype_uint8);
    CHECK_EQ(device, diopi_host);
    CHECK(check::valuesOf(size) == std::vector<int64_t>({16}));
    uint64_t words[2] = {};
    std::memcpy(words, data, sizeof(words));
    CHECK_EQ(words[0], 0x0102030405060708u);
    CHECK_EQ(words[1], 99u);

    // The tensor is a copy: what happens to the source later does not show in it.
    CHECK_OK(diopiGeneratorSetSeedAndOffset(source, 5, 5));
    CHECK_OK(diopiGeneratorSetState(target, state));
    target.checkIs(0x0102030405060708, 99);
    source.checkIs(5, 5);
}

TEST_CASE_FIXTURE(check::FakeDevice, "state_may_be_a_view") {
    const ContextScope context;
    const GeneratorScope generator(0, 0);
    const diopiTensorHandle_t base = context.temporary({20}, diopi_dtype_uint8, diopi_host);
    const uint64_t words[2] = {11, 12};
    unsigned char bytes[20] = {};
    std::memcpy(bytes + 3, words, sizeof(words));
    CHECK_OK(diopiHostCopyToStorage(context, base, bytes, sizeof(bytes)));
    const std::vector<int64_t> sixteen = {16};
    const diopiSize_t size = check::sizeOf(sixteen);
    diopiTensorHandle_t view = nullptr;
    CHECK_OK(diopiHostCreateView(&view, base, &size, nullptr, 3, diopi_dtype_uint8));
    CHECK_OK(diopiGeneratorSetState(generator, view));
    generator.checkIs(11, 12);
    CHECK_OK(diopiHostDestroyTensor(view));
}

TEST_CASE_FIXTURE(check::FakeDevice, "other_tensors_are_no_state") {
    const ContextScope context;
    const GeneratorScope generator(3, 4);
    const char* const text =
        "diopiGeneratorSetState: parameter 'state' is not a contiguous 1-d uint8 tensor of 16 elements on the host";
    const auto refuse = [&](diopiTensorHandle_t state) {
        CHECK_FAILS(diopiGeneratorSetState(generator, state), diopiErrorOccurred, text);
    };
    refuse(context.temporary({15}, diopi_dtype_uint8, diopi_host));
    refuse(context.temporary({17}, diopi_dtype_uint8, diopi_host));
    refuse(context.temporary({}, diopi_dtype_uint8, diopi_host));
    refuse(context.temporary({4, 4}, diopi_dtype_uint8, diopi_host));
    refuse(context.temporary({16}, diopi_dtype_int8, diopi_host));
    refuse(context.temporary({16}, diopi_dtype_uint8, diopi_device));
    const std::vector<int64_t> sixteen = {16};
    const std::vector<int64_t> two = {2};
    const diopiSize_t size = check::sizeOf(sixteen);
    const diopiSize_t stride = check::sizeOf(two);
    diopiTensorHandle_t strided = nullptr;
    CHECK_OK(diopiRequireTensor(context, &strided, &size, &stride, diopi_dtype_uint8, diopi_host));
    refuse(strided);
    generator.checkIs(3, 4);
}

TEST_CASE_FIXTURE(check::FakeDevice, "null_arguments_of_generators") {
    const ContextScope context;
    const GeneratorScope generator(3, 4);
    const diopiTensorHandle_t state = context.temporary({16}, diopi_dtype_uint8, diopi_host);
    diopiTensorHandle_t out = nullptr;
    uint64_t number = 0;
    CHECK_FAILS(diopiGeneratorGetState(nullptr, generator, &out), diopiErrorOccurred,
                "diopiGeneratorGetState: parameter 'ctx' is null");
    CHECK_FAILS(diopiGeneratorGetState(context, nullptr, &out), diopiErrorOccurred,
                "diopiGeneratorGetState: parameter 'th' is null");
    CHECK_FAILS(diopiGeneratorGetState(context, generator, nullptr), diopiErrorOccurred,
                "diopiGeneratorGetState: parameter 'data' is null");
    CHECK_FAILS(diopiGeneratorSetState(nullptr, state), diopiErrorOccurred,
                "diopiGeneratorSetState: parameter 'th' is null");
    CHECK_FAILS(diopiGeneratorSetState(generator, nullptr), diopiErrorOccurred,
                "diopiGeneratorSetState: parameter 'state' is null");
    CHECK_FAILS(diopiGeneratorGetSeedAndOffset(nullptr, &number, &number), diopiErrorOccurred,
                "diopiGeneratorGetSeedAndOffset: parameter 'th' is null");
    CHECK_FAILS(diopiGeneratorGetSeedAndOffset(generator, nullptr, &number), diopiErrorOccurred,
                "diopiGeneratorGetSeedAndOffset: parameter 'ptrSeed' is null");
    CHECK_FAILS(diopiGeneratorGetSeedAndOffset(generator, &number, nullptr), diopiErrorOccurred,
                "diopiGeneratorGetSeedAndOffset: parameter 'ptrOffset' is null");
    CHECK_FAILS(diopiGeneratorSetSeedAndOffset(nullptr, 1, 2), diopiErrorOccurred,
                "diopiGeneratorSetSeedAndOffset: parameter 'th' is null");
    CHECK_FAILS(diopiHostCreateGenerator(nullptr, 1, 2), diopiErrorOccurred,
                "diopiHostCreateGenerator: parameter 'generator' is null");
    CHECK_FAILS(diopiHostDestroyGenerator(nullptr), diopiErrorOccurred,
                "diopiHostDestroyGenerator: parameter 'generator' is null");
    CHECK_EQ(context.temporaryCount(), 1);
}

TEST_SUITE_END();
