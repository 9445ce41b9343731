// Elements as plain arrays: dtypes, strides, broadcasting, rounding.
#include <diopigen_kernels/elements.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sim_test.h"

using simtest::Floats;
using simtest::Stream;

namespace {

// The bytes of device memory.
template <typename T>
void put(const Stream& stream, const Floats& memory, const std::vector<T>& values) {
    std::vector<float> bytes(memory.bytes() / 4);
    std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
    memory.set(stream, bytes);
}
template <typename T>
std::vector<T> taken(const Stream& stream, const Floats& memory, size_t count) {
    const std::vector<float> bytes = memory.values(stream);
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data(), count * sizeof(T));
    return values;
}

// What a dtype makes of doubles: stored by one kernel, read by the next.
std::vector<double> through(const Stream& stream, diopiDtype_t dtype, int size, const std::vector<double>& values) {
    const Floats memory(64);
    const auto count = static_cast<int64_t>(values.size());
    std::vector<double> found;
    CHECK_OK(sim::launch(stream, "store",
                         {sim::writes(memory.get(), static_cast<uint64_t>(count * size)).tensor(dtype, {count}, {1})},
                         [&](const sim::Kernel& k) { kernels::store(k, 0, values); }));
    CHECK_OK(sim::launch(stream, "load",
                         {sim::reads(memory.get(), static_cast<uint64_t>(count * size)).tensor(dtype, {count}, {1})},
                         [&](const sim::Kernel& k) { found = kernels::load(k, 0); }));
    CHECK_OK(sim::synchronize(stream));
    return found;
}

}  // namespace

TEST_CASE("elements_are_rounded_to_their_dtype") {
    const Stream stream(0);
    const double infinity = std::numeric_limits<double>::infinity();
    // float16: ties to even, denormals, the largest number and what rounds beyond it.
    CHECK(through(stream, diopi_dtype_float16, 2, {1 + 1.0 / 2048, 1 + 3.0 / 2048, 65519, 65520, -0.5, infinity}) ==
          std::vector<double>({1, 1 + 4.0 / 2048, 65504, infinity, -0.5, infinity}));
    CHECK(through(stream, diopi_dtype_float16, 2, {std::ldexp(1, -24), std::ldexp(1, -25), std::ldexp(3, -25)}) ==
          std::vector<double>({std::ldexp(1, -24), 0, std::ldexp(1, -23)}));
    CHECK(through(stream, diopi_dtype_bfloat16, 2, {1 + 1.0 / 256, 1 + 3.0 / 256, 3.4e38}) ==
          std::vector<double>({1, 1 + 4.0 / 256, infinity}));
    CHECK(through(stream, diopi_dtype_float32, 4, {1 + std::ldexp(1, -24), 0.5}) == std::vector<double>({1, 0.5}));
    const std::vector<double> nan = through(stream, diopi_dtype_bfloat16, 2, {std::nan("")});
    CHECK(std::isnan(nan[0]));
}

TEST_CASE("whole_numbers_wrap_and_bools_are_0_or_1") {
    const Stream stream(0);
    CHECK(through(stream, diopi_dtype_int8, 1, {127, 128, -129}) == std::vector<double>({127, -128, 127}));
    CHECK(through(stream, diopi_dtype_uint8, 1, {256, -1}) == std::vector<double>({0, 255}));
    CHECK(through(stream, diopi_dtype_int16, 2, {32768}) == std::vector<double>({-32768}));
    CHECK(through(stream, diopi_dtype_bool, 1, {0, 2, -1}) == std::vector<double>({0, 1, 1}));
}

TEST_CASE("tensors_are_read_in_any_strides_and_broadcast") {
    const Stream stream(0);
    const Floats memory(16);
    memory.set(stream, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    std::vector<double> transposed, repeated, wide;
    CHECK_OK(sim::launch(stream, "read",
                         {sim::reads(memory.get(), 24).tensor(diopi_dtype_float32, {2, 3}, {1, 2}),
                          sim::reads(memory.get(), 8).tensor(diopi_dtype_float32, {2, 2}, {1, 0}),
                          sim::reads(memory.get(), 8).tensor(diopi_dtype_float32, {2, 1}, {1, 1})},
                         [&](const sim::Kernel& k) {
                             transposed = kernels::load(k, 0);
                             repeated = kernels::load(k, 1);
                             wide = kernels::load(k, 2, {2, 2, 2});
                         }));
    CHECK_OK(sim::synchronize(stream));
    CHECK(transposed == std::vector<double>({0, 2, 4, 1, 3, 5}));
    CHECK(repeated == std::vector<double>({0, 0, 1, 1}));
    CHECK(wide == std::vector<double>({0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST_CASE("shapes_that_do_not_fit_fail_the_kernel") {
    const Stream stream(0);
    const Floats memory(16);
    memory.set(stream, std::vector<float>(16, 0.0F));
    const auto tensor = sim::updates(memory.get(), 12).tensor(diopi_dtype_float32, {3}, {1});
    CHECK_OK(sim::launch(stream, "load", {tensor}, [](const sim::Kernel& k) { kernels::load(k, 0, {4}); }));
    CHECK(!sim::synchronize(stream).ok());
    CHECK_OK(sim::launch(stream, "store", {tensor}, [](const sim::Kernel& k) { kernels::store(k, 0, {1, 2}); }));
    CHECK(!sim::synchronize(stream).ok());
}

TEST_CASE("conversions_of_whole_numbers_are_exact") {
    const Stream stream(0);
    const Floats from(8);
    const Floats to(8);
    const int64_t large = std::numeric_limits<int64_t>::min() + 1;
    put<int64_t>(stream, from, {large, 9007199254740993, -1});
    CHECK_OK(sim::launch(stream, "copy",
                         {sim::writes(to.get(), 24).tensor(diopi_dtype_int64, {3}, {1}),
                          sim::reads(from.get(), 24).tensor(diopi_dtype_int64, {3}, {1})},
                         [](const sim::Kernel& k) { kernels::convert(k, 0, 1); }));
    CHECK(taken<int64_t>(stream, to, 3) == std::vector<int64_t>({large, 9007199254740993, -1}));
    CHECK_OK(sim::launch(stream, "narrow",
                         {sim::writes(to.get(), 12).tensor(diopi_dtype_int32, {3}, {1}),
                          sim::reads(from.get(), 24).tensor(diopi_dtype_int64, {3}, {1})},
                         [](const sim::Kernel& k) { kernels::convert(k, 0, 1); }));
    CHECK(taken<int32_t>(stream, to, 3) == std::vector<int32_t>({1, 1, -1}));
    CHECK_OK(sim::launch(stream, "to float",
                         {sim::writes(to.get(), 12).tensor(diopi_dtype_float32, {3}, {1}),
                          sim::reads(from.get(), 24).tensor(diopi_dtype_int64, {3}, {1})},
                         [](const sim::Kernel& k) { kernels::convert(k, 0, 1); }));
    CHECK(taken<float>(stream, to, 3) == std::vector<float>({-9223372036854775808.0F, 9007199254740992.0F, -1}));
}

TEST_CASE("transposed_matrices_of_any_size_and_dtype") {
    const Stream stream(0);
    for (const int64_t rows : {1, 15, 16, 33}) {
        for (const int64_t columns : {1, 2, 40}) {
            const int64_t count = 2 * rows * columns;
            const Floats memory(static_cast<uint64_t>(count)), halves(static_cast<uint64_t>(count));
            std::vector<float> values(static_cast<size_t>(count));
            std::vector<double> expected(values.size()), found, rounded;
            for (int64_t i = 0; i < count; ++i) {
                values[i] = static_cast<float>(i);
                const int64_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
                expected[i] = static_cast<double>(batch * rows * columns + column * rows + row);
            }
            memory.set(stream, values);
            const auto seen = [&](const Floats& floats, diopiDtype_t dtype, int size) {
                return sim::updates(floats.get(), static_cast<uint64_t>(count * size))
                    .tensor(dtype, {2, rows, columns}, {rows * columns, 1, rows});
            };
            CHECK_OK(sim::launch(stream, "read",
                                 {seen(memory, diopi_dtype_float32, 4), seen(halves, diopi_dtype_bfloat16, 2)},
                                 [&](const sim::Kernel& k) {
                                     found = kernels::load(k, 0);
                                     kernels::convert(k, 1, 0);
                                     rounded = kernels::load(k, 1);
                                 }));
            CHECK_OK(sim::synchronize(stream));
            CHECK(found == expected);
            for (size_t i = 0; i < rounded.size(); ++i) {
                CHECK(std::fabs(rounded[i] - expected[i]) <= expected[i] / 256);
            }
            memory.set(stream, std::vector<float>(values.size(), -1));
            CHECK_OK(sim::launch(stream, "write", {seen(memory, diopi_dtype_float32, 4)},
                                 [expected](const sim::Kernel& k) { kernels::store(k, 0, expected); }));
            CHECK(memory.values(stream) == values);
        }
    }
}
