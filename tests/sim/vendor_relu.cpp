// A vendor with one operator on the simulated device, and with one fault that RELU_FAULT names.
#include <diopi/functions.h>
#include <diopigen_sim/chip.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/tensor.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace kernels = diopigen::kernels;
namespace sim = diopigen::sim;

namespace {

constexpr kernels::NativeOperator kOperators[] = {{"diopiRelu", 0, 0, 0}};
constexpr sim::Chip kChip = {"pebble", kernels::maskOf(diopi_dtype_float32), 8, 4, 0, kOperators, 1};

bool hasFault(const char* name) {
    const char* const chosen = std::getenv("RELU_FAULT");
    return chosen != nullptr && std::string(chosen) == name;
}

/// Where the element of this number, counted in the order of the dimensions, lies.
int64_t offsetOf(const sim::Buffer& buffer, int64_t number) {
    int64_t offset = 0;
    for (std::size_t dim = buffer.shape.size(); dim-- > 0;) {
        offset += number % buffer.shape[dim] * buffer.stride[dim];
        number /= buffer.shape[dim];
    }
    return offset;
}

/// Two ranges that share a part, but are not the same.
bool overlap(const sim::Buffer& a, const sim::Buffer& b) {
    const auto first = reinterpret_cast<uintptr_t>(a.pointer);
    const auto second = reinterpret_cast<uintptr_t>(b.pointer);
    return first != second && first < second + b.bytes && second < first + a.bytes;
}

}  // namespace

extern "C" diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    sim::Buffer from;
    sim::Buffer to;
    if (ctx == nullptr || out == nullptr || input == nullptr ||
        kernels::bufferOf(input, sim::Access::read, &from) != diopiSuccess ||
        kernels::bufferOf(out, sim::Access::write, &to) != diopiSuccess || from.shape != to.shape ||
        overlap(from, to)) {
        return diopiErrorOccurred;
    }
    int64_t count = 0;
    diopiGetTensorNumel(input, &count);
    diopiStreamHandle_t stream = nullptr;
    diopiGetStream(ctx, &stream);
    if (hasFault("host reads") && count > 0) {
        const volatile float first = *static_cast<const float*>(from.pointer);
        (void)first;
    }
    if (hasFault("wrong stream")) {
        stream = nullptr;
    }
    if (hasFault("double free")) {
        void* const scratch = diopigenSimMalloc(64);
        diopigenSimFree(scratch);
        diopigenSimFree(scratch);
    }
    if (hasFault("leak")) {
        diopigenSimMalloc(640);
    }
    if (hasFault("throws")) {
        const auto kernel = [](const sim::Kernel&) { throw 1; };
        return sim::errorOf(sim::launch(stream, "diopiRelu", {from, to}, kernel));
    }
    const bool ignoresStrides = hasFault("ignores strides");
    return sim::errorOf(sim::launch(stream, "diopiRelu", {from, to}, [=](const sim::Kernel& kernel) {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t place = ignoresStrides ? i : offsetOf(kernel.buffer(0), i);
            const float value = kernel.in<float>(0)[place];
            kernel.out<float>(1)[offsetOf(kernel.buffer(1), i)] = value > 0 || value != value ? value : 0.0f;
        }
    }));
}

extern "C" const char* diopiGetLastErrorString() { return diopigenSimGetLastErrorString(); }

extern "C" int32_t initLibrary() {
    const int32_t status = diopigenRegisterSimulatedDevice();
    return status != 0 ? status : static_cast<int32_t>(sim::setChip(&kChip).code());
}

extern "C" int32_t finalizeLibrary() { return diopigenFinishSimulatedDevice(); }
