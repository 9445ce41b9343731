// The simulated device under the host runtime: initLibrary registers it, tensors are on it, kernels take tensors.
#include <diopigen/device.h>
#include <diopigen/host.h>
#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_sim/chip.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/tensor.h>

#include <stdexcept>

#include "sim_test.h"

extern "C" int32_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out);

namespace {

/// A context over the registered device, and tensors in it.
class Host {
  public:
    Host() {
        CHECK_EQ(initLibrary(), 0);
        CHECK_EQ(diopiHostCreateContext(&context_), diopiSuccess);
    }
    ~Host() {
        CHECK_EQ(diopiHostDestroyContext(context_), diopiSuccess);
        CHECK_EQ(finalizeLibrary(), 0);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    diopiContextHandle_t get() const { return context_; }

    diopiTensorHandle_t tensor(std::vector<int64_t> shape, diopiDtype_t dtype, std::vector<int64_t> stride = {}) const {
        diopiTensorHandle_t made = nullptr;
        const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
        const diopiSize_t steps{stride.data(), static_cast<int64_t>(stride.size())};
        CHECK_EQ(diopiRequireTensor(context_, &made, &size, stride.empty() ? nullptr : &steps, dtype, diopi_device),
                 diopiSuccess);
        return made;
    }

    std::string lastError() const {
        const char* text = nullptr;
        CHECK_EQ(diopiHostGetLastErrorText(&text), diopiSuccess);
        return text;
    }

  private:
    diopiContextHandle_t context_ = nullptr;
};

}  // namespace

TEST_CASE("tensors_are_on_the_device") {
    const Host host;
    const diopiTensorHandle_t input = host.tensor({2, 3}, diopi_dtype_float32);
    const diopiTensorHandle_t out = host.tensor({2, 3}, diopi_dtype_float32, {1, 2});
    const float values[6] = {1, 2, 3, 4, 5, 6};
    CHECK_EQ(diopiHostCopyToStorage(host.get(), input, values, sizeof(values)), diopiSuccess);
    sim::Buffer to;
    CHECK_EQ(kernels::bufferOf(out, sim::Access::write, &to), diopiSuccess);
    CHECK_EQ(to.bytes, 24u);
    CHECK(to.stride == (std::vector<int64_t>{1, 2}));
    CHECK_OK(sim::launch(host.get(), "diopiNeg", {sim::reads(input), sim::writes(out)}, [](const sim::Kernel& kernel) {
        for (int row = 0; row < 2; ++row) {
            for (int column = 0; column < 3; ++column) {
                const std::vector<int64_t>& stride = kernel.buffer(1).stride;
                kernel.out<float>(1)[row * stride[0] + column * stride[1]] = -kernel.in<float>(0)[row * 3 + column];
            }
        }
    }));
    float found[6] = {};
    CHECK_EQ(diopiHostCopyFromStorage(host.get(), out, found, sizeof(found)), diopiSuccess);
    const float wanted[6] = {-1, -4, -2, -5, -3, -6};
    for (int i = 0; i < 6; ++i) {
        CHECK_EQ(found[i], wanted[i]);
    }
    sim::Buffer none;
    CHECK_EQ(kernels::bufferOf(nullptr, sim::Access::read, &none), diopiSuccess);
    CHECK_EQ(none.bytes, 0u);
    CHECK_EQ(kernels::bufferOf(host.tensor({2, 0, 5}, diopi_dtype_float32), sim::Access::read, &none), diopiSuccess);
    CHECK_EQ(none.bytes, 0u);
    CHECK_EQ(none.shape.size(), 3u);
    CHECK_EQ(kernels::bufferOf(host.tensor({}, diopi_dtype_int16), sim::Access::read, &none), diopiSuccess);
    CHECK_EQ(none.bytes, 2u);
}

TEST_CASE("a_call_sees_its_tensors_as_rows") {
    const Host host;
    const diopiTensorHandle_t input = host.tensor({2, 3}, diopi_dtype_float32);
    const diopiTensorHandle_t sums = host.tensor({3}, diopi_dtype_float32);
    const float values[6] = {1, 2, 3, 10, 20, 30};
    CHECK_EQ(diopiHostCopyToStorage(host.get(), input, values, sizeof(values)), diopiSuccess);
    kernels::Call call(host.get(), "diopiSum", {sums}, {input, nullptr}, {2});
    CHECK(call.isOneFloat());
    CHECK(call.has(1));
    CHECK(!call.has(2));
    CHECK_EQ(call.dim(1, -1), 1);
    CHECK_EQ(call.dim(1, 2), -1);
    CHECK(call.haveShape({1, 2}, {2, 3}));
    CHECK(!call.haveShape({0, 1}, {2, 3}));
    CHECK(call.haveDtype({0, 1, 2}, diopi_dtype_float32));
    CHECK(!call.haveDtype({0}, diopi_dtype_int32));
    CHECK(!kernels::Call(call).moveLast({0, -2}, {1}));
    CHECK(!kernels::Call(call).moveLast({2}, {1}));
    CHECK(call.moveLast({0}, {1, 2}));
    CHECK(call.shape(1) == (kernels::Shape{3, 2}));
    CHECK_OK(call.launch(sim::launchAtOnceIfSmall, [](const sim::Kernel& k) {
        const std::vector<double> x = kernels::load(k, 1), none = kernels::loadOr(k, 2, 3, 0.5);
        kernels::store(k, 0, {x[0] + x[1] + none[0], x[2] + x[3] + none[1], x[4] + x[5] + none[2]});
        kernels::storeIfAny(k, 2, x);
    }));
    float found[3] = {};
    CHECK_EQ(diopiHostCopyFromStorage(host.get(), sums, found, sizeof(found)), diopiSuccess);
    CHECK(found[0] == 11.5F);
    CHECK(found[1] == 22.5F);
    CHECK(found[2] == 33.5F);
}

TEST_CASE("a_call_that_the_device_does_not_take") {
    const Host host;
    const diopiTensorHandle_t one = host.tensor({4}, diopi_dtype_float32);
    const diopiTensorHandle_t empty = host.tensor({0}, diopi_dtype_float32);
    const diopiTensorHandle_t expanded = host.tensor({4}, diopi_dtype_float32, {0});
    const auto launched = [&](diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
        return kernels::Call(host.get(), "diopiNeg", {out}, {input})
            .launch(sim::launchAtOnceIfSmall, [](const sim::Kernel&) {});
    };
    CHECK_OK(launched(one, one));
    CHECK_FAILS(launched(nullptr, one), unsupported, "diopiNeg: tensor 0 is missing");
    CHECK_FAILS(launched(empty, one), unsupported, "diopiNeg: tensor 0 (float32 [0]) has no elements");
    CHECK_FAILS(launched(expanded, one), unsupported, "diopiNeg: a result shares memory with another tensor");
    diopiTensorHandle_t on_host = nullptr;
    const int64_t four = 4;
    const diopiSize_t size{&four, 1};
    CHECK_EQ(diopiRequireTensor(host.get(), &on_host, &size, nullptr, diopi_dtype_float32, diopi_host), diopiSuccess);
    CHECK_FAILS(launched(one, on_host), unsupported, "diopiNeg: tensor 1 is in host memory");
    const int64_t sides[2] = {3, 4};
    const diopiSize_t matrix{sides, 2};
    diopiTensorHandle_t sparse = nullptr;
    CHECK_EQ(diopiHostCreateSparseCsr(&sparse, &matrix, host.tensor({4}, diopi_dtype_int64),
                                      host.tensor({4}, diopi_dtype_int64), one),
             diopiSuccess);
    CHECK_FAILS(launched(one, sparse), unsupported, "diopiNeg: tensor 1 is sparse");
    sim::Buffer none;
    CHECK(kernels::bufferOf(sparse, sim::Access::read, &none) != diopiSuccess);
    CHECK_EQ(diopiHostDestroyTensor(sparse), diopiSuccess);
}

TEST_CASE("shapes_broadcast") {
    kernels::Shape shape{2, 1};
    CHECK(kernels::broadcast(&shape, {3, 1, 4}));
    CHECK(shape == (kernels::Shape{3, 2, 4}));
    CHECK(!kernels::broadcast(&shape, {3}));
    CHECK_EQ(kernels::product(kernels::Shape{}), 1);
    CHECK(kernels::shapeOf({nullptr, 0}).empty());
}

// With DIOPI_SIM_MEMORY=1M.
TEST_CASE("the_host_quotes_the_device") {
    const Host host;
    diopiTensorHandle_t tensor = nullptr;
    CHECK_EQ(diopiRequireBuffer(host.get(), &tensor, 2 << 20, diopi_device), diopiErrorOccurred);
    CHECK_EQ(host.lastError(),
             std::string("diopiRequireBuffer: out of device memory: 2097152 bytes: out of memory on device 0: 2097152 "
                         "bytes asked for, 1048576 of 1048576 free, 0 allocations alive"));
    const char* text = nullptr;
    CHECK_EQ(diopiHostGetDeviceErrorText(&text), diopiSuccess);
    CHECK_EQ(std::string(text), std::string("out of memory on device 0: 2097152 bytes asked for, 1048576 of 1048576 "
                                            "free, 0 allocations alive"));
    diopiStreamHandle_t stream = nullptr;
    CHECK_EQ(diopiGetStream(host.get(), &stream), diopiSuccess);
    CHECK_OK(sim::launch(stream, "diopiNeg", {}, [](const sim::Kernel&) { throw std::runtime_error("unit on fire"); }));
    CHECK_EQ(diopiHostSynchronize(host.get()), diopiErrorOccurred);
    CHECK_EQ(host.lastError(),
             std::string("diopiHostSynchronize: the device could not synchronise a stream (code 6): diopiNeg on "
                         "stream 0 failed: unit on fire"));
}

TEST_CASE("the_state_of_a_generator_is_written") {
    const Host host;
    const diopiTensorHandle_t state = host.tensor({16}, diopi_dtype_uint8);
    std::vector<unsigned char> bytes(16, 0x7B);
    CHECK_EQ(diopiHostCopyToStorage(host.get(), state, bytes.data(), 16), diopiSuccess);
    CHECK_EQ(buildGeneratorState(host.get(), state), 0);
    CHECK_EQ(diopiHostCopyFromStorage(host.get(), state, bytes.data(), 16), diopiSuccess);
    CHECK(bytes == std::vector<unsigned char>(16, 0));
}

TEST_CASE("a_host_that_leaks_is_told_by_finalize") {
    CHECK_EQ(initLibrary(), 0);
    void* const memory = diopigenSimMalloc(0);
    CHECK(memory != nullptr);
    CHECK(finalizeLibrary() != 0);
    CHECK_EQ(std::string(diopigenSimGetLastErrorString()),
             std::string("leak: 1 allocations with 0 bytes were never freed"));
    diopigenSimFree(memory);
    CHECK_EQ(finalizeLibrary(), 0);
}

TEST_CASE("an_operator_answers_what_the_chip_says") {
    static constexpr kernels::NativeOperator add[] = {{"diopiAdd", 0, 0, 0}};
    static constexpr sim::Chip chip = {"pebble", kernels::maskOf(diopi_dtype_float32), 2, 1, 0, add, 1};
    const Host host;
    CHECK_OK(sim::setChip(&chip));
    const auto answer = [&](const char* name, diopiConstTensorHandle_t tensor) {
        return sim::errorOf(sim::launch(host.get(), name, {sim::reads(tensor)}, [](const sim::Kernel&) {}));
    };
    CHECK_EQ(answer("diopiAdd", host.tensor({2}, diopi_dtype_float32)), diopiSuccess);
    CHECK_EQ(answer("diopiAdd", nullptr), diopiSuccess);
    CHECK_EQ(answer("diopiAdd", host.tensor({2}, diopi_dtype_int64)), diopiDtypeNotSupported);
    CHECK_EQ(answer("diopiAdd", host.tensor({2, 2, 2}, diopi_dtype_float32)), diopiNoImplement);
    CHECK_EQ(answer("diopiSub", host.tensor({2}, diopi_dtype_float32)), diopiNoImplement);
    CHECK_EQ(std::string(diopigenSimGetLastErrorString()), std::string("diopiSub is no native operator of pebble"));
    CHECK_EQ(sim::errorOf(sim::Status(sim::Code::outOfMemory, "none left")), diopiErrorOccurred);
    CHECK_EQ(std::string(diopigenSimGetLastErrorString()), std::string("none left"));
    diopigenSimSetLastErrorString(nullptr);
    CHECK_EQ(std::string(diopigenSimGetLastErrorString()), std::string());
    CHECK_FAILS(sim::launch(diopiContextHandle_t(), "diopiAdd", {}, [](const sim::Kernel&) {}), invalidArgument,
                "diopiAdd: the context gives no stream");
}
