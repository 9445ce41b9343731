// What a chip takes and refuses.
#include <diopigen_sim/chip.h>

#include "sim_test.h"

using simtest::Floats;
using simtest::Stream;

namespace {

constexpr uint32_t kFloats = kernels::maskOf(diopi_dtype_float32, diopi_dtype_float16);
constexpr kernels::NativeOperator kOperators[] = {
    {"diopiAdd", 0, 0, 0},
    {"diopiArgmax", kernels::maskOf(diopi_dtype_float32, diopi_dtype_int32), 0, 2},
    {"diopiConvolution2d", 0, kernels::maskOf(kernels::NLC, kernels::NHWC), 0},
};
constexpr sim::Chip kChip = {"pebble", kFloats, 5, 16, 4096, kOperators, 3};

const std::string kTakes = "; it takes float16, float32";

sim::Status launched(sim::StreamHandle stream, const char* name, const sim::Buffer& buffer) {
    return sim::launch(stream, name, {buffer}, [](const sim::Kernel&) {});
}

}  // namespace

TEST_CASE("a_chip_takes_what_its_table_says") {
    CHECK_OK(sim::setChip(&kChip));
    CHECK(sim::chip() == &kChip);
    const Stream stream;
    const Floats memory(120);
    const sim::Buffer raw = sim::reads(memory.get(), memory.bytes());
    const auto as = [&](diopiDtype_t dtype, std::vector<int64_t> shape, std::vector<int64_t> stride) {
        return raw.tensor(dtype, std::move(shape), std::move(stride));
    };
    const auto f32 = diopi_dtype_float32;
    CHECK_OK(launched(stream, "diopiAdd", raw));
    CHECK_OK(launched(stream, "diopiAdd/part", as(f32, {}, {})));
    CHECK_OK(launched(stream, "diopiAdd", as(diopi_dtype_float16, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5})));
    CHECK_OK(launched(stream, "diopiAdd", sim::reads(nullptr, 0)));
    CHECK_OK(launched(stream, "diopiArgmax", as(diopi_dtype_int32, {2, 3}, {3, 1})));
    // 2 x 3 x 4 x 5 with the channels last.
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {2, 3, 4, 5}, {60, 1, 15, 3})));
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {2, 3, 5}, {15, 1, 3})));
    // One channel, or one pixel: both orders at once. Nothing at all: every order.
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {2, 1, 4, 5}, {20, 20, 5, 1})));
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {2, 3, 1, 1}, {3, 1, 1, 1})));
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {2, 0, 4, 5}, {9, 9, 9, 9})));
    // The bias has one dimension, which no layout is about.
    CHECK_OK(launched(stream, "diopiConvolution2d", as(f32, {3}, {1})));
    CHECK_OK(sim::synchronize(stream));

    CHECK_FAILS(launched(stream, "diopiSub", raw), unsupported, "diopiSub is no native operator of pebble");
    CHECK_FAILS(launched(stream, "diopiAd", raw), unsupported, "diopiAd is no native operator of pebble");
    CHECK_FAILS(launched(stream, "diopiZeros/part", raw), unsupported, "diopiZeros is no native operator of pebble");
    CHECK_FAILS(launched(stream, "diopiAdd/part", as(diopi_dtype_float64, {2}, {1})), unsupportedDtype,
                "diopiAdd/part on pebble: buffer 0 is float64" + kTakes);
    CHECK_FAILS(launched(stream, "diopiAdd", as(diopi_dtype_unsupported, {2}, {1})), unsupportedDtype,
                "diopiAdd on pebble: buffer 0 is an unknown dtype" + kTakes);
    CHECK_FAILS(launched(stream, "diopiArgmax", as(diopi_dtype_float16, {2}, {1})), unsupportedDtype,
                "diopiArgmax on pebble: buffer 0 is float16; it takes int32, float32");
    CHECK_FAILS(launched(stream, "diopiArgmax", as(f32, {1, 2, 3}, {6, 3, 1})), unsupported,
                "diopiArgmax on pebble: buffer 0 has 3 dimensions; it takes at most 2");
    CHECK_FAILS(launched(stream, "diopiAdd", as(f32, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1})), unsupported,
                "diopiAdd on pebble: buffer 0 has 6 dimensions; it takes at most 5");
    CHECK_FAILS(launched(stream, "diopiAdd", as(f32, {2, 3}, {1})), unsupported,
                "diopiAdd on pebble: buffer 0 has 2 sizes and 1 strides");
    CHECK_FAILS(launched(stream, "diopiConvolution2d", as(f32, {2, 3, 4, 5}, {60, 20, 5, 1})), unsupported,
                "diopiConvolution2d on pebble: buffer 0 has shape [2, 3, 4, 5] and strides [60, 20, 5, 1]; "
                "it takes NLC, NHWC");
    // Channels last, but with a gap.
    CHECK_FAILS(launched(stream, "diopiConvolution2d", as(f32, {1, 3, 4, 5}, {80, 1, 20, 4})), unsupported,
                "diopiConvolution2d on pebble: buffer 0 has shape [1, 3, 4, 5] and strides [80, 1, 20, 4]; "
                "it takes NLC, NHWC");
    CHECK_FAILS(launched(stream, "diopiAdd", sim::reads(memory.get() + 5, 4)), unsupported,
                "diopiAdd on pebble: buffer 0 starts 4 bytes behind a multiple of 16");
    CHECK_OK(sim::setChip(nullptr));
    CHECK_OK(launched(stream, "diopiSub", as(diopi_dtype_float64, {2}, {1})));
}

TEST_CASE("a_chip_says_how_much_memory_it_has") {
    CHECK_OK(sim::setChip(&kChip));
    sim::MemoryUse use;
    CHECK_OK(sim::memoryUse(1, &use));
    std::printf("limit %llu\n", static_cast<unsigned long long>(use.limitBytes));
}
