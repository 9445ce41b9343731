// The units that kernels compute with: products of matrices, convolution, positions, and elements as floats or
// integers.
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/image.h>
#include <diopigen_kernels/indexing.h>
#include <diopigen_kernels/matrix.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "sim_test.h"

using simtest::Floats;
using simtest::Stream;

namespace {

using Values = std::vector<double>;
using Shape = std::vector<int64_t>;

// Small whole numbers, whose sums are exact in any order.
Values numbers(int64_t count, int64_t step) {
    Values made(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        made[i] = static_cast<double>((i * step + i / 7) % 11 - 5);
    }
    return made;
}

int64_t countOf(const Shape& shape) { return shape[0] * shape[1] * shape[2] * shape[3]; }

// `visit(result, image, filter)` with the places of all elements that are multiplied, as the definition has them.
template <typename Visit>
void multiplied(const kernels::Convolution& c, Visit visit) {
    const int64_t perGroup = c.filter[0] / c.groups;
    for (int64_t n = 0; n < c.image[0]; ++n) {
        for (int64_t o = 0; o < c.filter[0]; ++o) {
            for (int64_t y = 0; y < c.result[2]; ++y) {
                for (int64_t x = 0; x < c.result[3]; ++x) {
                    for (int64_t i = 0; i < c.filter[1]; ++i) {
                        for (int64_t v = 0; v < c.filter[2]; ++v) {
                            for (int64_t u = 0; u < c.filter[3]; ++u) {
                                const int64_t row = y * c.stride[0] + v * c.dilation[0] - c.padding[0];
                                const int64_t column = x * c.stride[1] + u * c.dilation[1] - c.padding[1];
                                if (row < 0 || row >= c.image[2] || column < 0 || column >= c.image[3]) {
                                    continue;
                                }
                                const int64_t channel = o / perGroup * c.filter[1] + i;
                                visit(((n * c.result[1] + o) * c.result[2] + y) * c.result[3] + x,
                                      ((n * c.image[1] + channel) * c.image[2] + row) * c.image[3] + column,
                                      ((o * c.filter[1] + i) * c.filter[2] + v) * c.filter[3] + u);
                            }
                        }
                    }
                }
            }
        }
    }
}

}  // namespace

namespace {

template <typename T>
void checkProducts() {
    for (const Shape& size : std::vector<Shape>{{1, 1, 1},
                                                {4, 8, 16},
                                                {5, 3, 17},
                                                {33, 65, 67},
                                                {9, 600, 33},
                                                {1, 300, 67},
                                                {2, 41, 40},
                                                {70, 33, 1},
                                                {2, 0, 3},
                                                {0, 2, 3},
                                                {131, 70, 150}}) {  // the last one in ranges of rows
        const int64_t m = size[0], k = size[1], n = size[2];
        const Values x = numbers(m * k, 3), y = numbers(k * n, 5);
        std::vector<T> expected(static_cast<size_t>(m * n)), found(expected.size(), -1);
        for (int64_t i = 0; i < m * n; ++i) {
            for (int64_t j = 0; j < k; ++j) {
                expected[i] += static_cast<T>(x[i / n * k + j] * y[j * n + i % n]);
            }
        }
        const std::vector<T> left(x.begin(), x.end()), right(y.begin(), y.end());
        kernels::multiplyMatrices(m, k, n, left.data(), right.data(), found.data());
        CHECK(found == expected);
        // Rows apart, and columns next to each other in memory: the same sums.
        const auto spread = [](const std::vector<T>& from, int64_t rows, int64_t columns, bool is_transposed) {
            const int64_t pitch = (is_transposed ? rows : columns) + 3;
            std::vector<T> to(static_cast<size_t>((rows + columns + 1) * pitch), 1e9F);
            for (int64_t i = 0; i < rows * columns; ++i) {
                const int64_t row = i / columns, column = i % columns;
                to[is_transposed ? column * pitch + row : row * pitch + column] = from[i];
            }
            return std::make_pair(to,
                                  kernels::Matrix<T>{nullptr, is_transposed ? 1 : pitch, is_transposed ? pitch : 1});
        };
        for (int form = 0; form < 4; ++form) {
            auto [xs, first] = spread(left, m, k, (form & 1) != 0);
            auto [ys, second] = spread(right, k, n, (form & 2) != 0);
            first.data = xs.data();
            second.data = ys.data();
            std::vector<T> strided(expected.size(), -1);
            kernels::multiplyMatrices(m, k, n, first, second, strided.data());
            CHECK(strided == found);
        }
    }
}

}  // namespace

namespace {

/// Few rows, and few columns, of a product that has more of both: each element is the same number.
template <typename T>
void checkPartsOfProducts() {
    const int64_t m = 13, k = 301, n = 91;
    std::vector<T> x(m * k), y(k * n), whole(m * n);
    for (int64_t i = 0; i < m * k; ++i) {
        x[i] = std::sin(static_cast<T>(i));
    }
    for (int64_t i = 0; i < k * n; ++i) {
        y[i] = std::cos(static_cast<T>(i));
    }
    for (const bool is_transposed : {false, true}) {
        const kernels::Matrix<T> right{y.data(), is_transposed ? 1 : n, is_transposed ? k : 1};
        kernels::multiplyMatrices(m, k, n, {x.data(), k, 1}, right, whole.data());
        for (const int64_t rows : {1, 2, 3, 5}) {
            for (const int64_t columns : {1, 4, 8, 19, 32, 70}) {
                std::vector<T> part(static_cast<size_t>(rows * columns));
                kernels::multiplyMatrices(rows, k, columns, {x.data(), k, 1}, right, part.data());
                for (int64_t i = 0; i < rows * columns; ++i) {
                    CHECK(part[i] == whole[i / columns * n + i % columns]);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("parts_of_a_product_are_those_of_the_whole") {
    checkPartsOfProducts<float>();
    checkPartsOfProducts<double>();
}

TEST_CASE("products_of_matrices_of_any_size") {
    checkProducts<float>();
    checkProducts<double>();
}

TEST_CASE("convolutions_and_their_gradients") {
    const std::vector<kernels::Convolution> plans = {
        {{2, 3, 5, 6}, {4, 3, 3, 2}, {2, 4, 3, 5}, {1, 1}, {0, 0}, {1, 1}, 1},
        {{1, 4, 7, 5}, {6, 2, 3, 3}, {1, 6, 4, 3}, {2, 2}, {1, 1}, {1, 1}, 2},
        {{2, 3, 6, 7}, {3, 1, 2, 3}, {2, 3, 6, 3}, {1, 2}, {1, 1}, {2, 2}, 3},
        {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    };
    for (const kernels::Convolution& plan : plans) {
        CHECK(plan.isSound());
        const Values images = numbers(countOf(plan.image), 3), filters = numbers(countOf(plan.filter), 5);
        const Values gradient = numbers(countOf(plan.result), 7), bias = numbers(plan.filter[0], 2);
        Values results(gradient.size()), imageGradient(images.size()), filterGradient(filters.size());
        Values biasGradient(bias.size());
        multiplied(plan, [&](int64_t result, int64_t image, int64_t filter) {
            results[result] += images[image] * filters[filter];
            imageGradient[image] += gradient[result] * filters[filter];
            filterGradient[filter] += gradient[result] * images[image];
        });
        for (size_t i = 0; i < results.size(); ++i) {
            const size_t channel = i / (plan.result[2] * plan.result[3]) % plan.result[1];
            results[i] += bias[channel];
            biasGradient[channel] += gradient[i];
        }
        CHECK(plan.forward(images, filters, bias) == results);
        CHECK(plan.imageGradient(gradient, filters) == imageGradient);
        CHECK(plan.filterGradient(gradient, images) == filterGradient);
        CHECK(plan.biasGradient(gradient) == biasGradient);
    }
}

TEST_CASE("convolutions_whose_shapes_do_not_fit") {
    const kernels::Convolution sound{{1, 4, 7, 5}, {6, 2, 3, 3}, {1, 6, 4, 3}, {2, 2}, {1, 1}, {1, 1}, 2};
    const auto broken = [&](auto change) {
        kernels::Convolution plan = sound;
        change(plan);
        return !plan.isSound();
    };
    CHECK(sound.isSound());
    CHECK(broken([](kernels::Convolution& plan) { plan.result[3] = 4; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.groups = 0; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.groups = 4; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.stride = {2, 0}; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.stride = {2}; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.padding[0] = -1; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.filter[2] = 10; }));
    CHECK(broken([](kernels::Convolution& plan) { plan.image = {4, 7, 5}; }));
}

TEST_CASE("floats_where_they_lie_and_converted") {
    const Stream stream(0);
    const Floats memory(12);
    memory.set(stream, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    const auto tensor = [&](const Shape& shape, const Shape& stride) {
        return sim::updates(memory.get(), 24).tensor(diopi_dtype_float32, shape, stride);
    };
    std::vector<float> plain, transposed, wide, missing;
    bool isInPlace = false;
    const auto taken = [](const kernels::FloatInput& input, int64_t count) {
        return std::vector<float>(input.data(), input.data() + count);
    };
    CHECK_OK(sim::launch(stream, "read", {tensor({2, 3}, {3, 1}), tensor({2, 3}, {1, 2}), sim::reads(nullptr, 0)},
                         [&](const sim::Kernel& k) {
                             const kernels::FloatInput first(k, 0, {2, 3});
                             plain = taken(first, 6);
                             isInPlace = first.data() == k.in<float>(0);
                             transposed = taken(kernels::FloatInput(k, 1, {2, 3}), 6);
                             wide = taken(kernels::FloatInput(k, 0, {2, 2, 3}), 12);
                             missing = taken(kernels::FloatInput(k, 2, {2}), 2);
                         }));
    CHECK_OK(sim::synchronize(stream));
    CHECK(isInPlace);
    CHECK(plain == std::vector<float>({0, 1, 2, 3, 4, 5}));
    CHECK(transposed == std::vector<float>({0, 2, 4, 1, 3, 5}));
    CHECK(wide == std::vector<float>({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
    CHECK(missing == std::vector<float>({0, 0}));
    CHECK_OK(sim::launch(stream, "write", {tensor({2, 3}, {1, 2}), sim::reads(nullptr, 0)}, [](const sim::Kernel& k) {
        kernels::FloatOutput out(k, 0, {2, 3}), nowhere(k, 1, {2, 3});
        for (int i = 0; i < 6; ++i) {
            out.data()[i] = static_cast<float>(10 * i);
            nowhere.data()[i] = 1;
        }
        out.finish();
        nowhere.finish();
    }));
    CHECK(memory.values(stream) == std::vector<float>({0, 30, 10, 40, 20, 50, 6, 7, 8, 9, 10, 11}));
    CHECK_OK(sim::launch(stream, "odd", {tensor({2, 3}, {3, 1})},
                         [](const sim::Kernel& k) { kernels::FloatOutput(k, 0, {3, 2}); }));
    CHECK(!sim::synchronize(stream).ok());
}

TEST_CASE("positions_of_what_index_tensors_name") {
    const int64_t first[] = {1, -2}, second[] = {0, 4};
    // x[:, i, j] of [2, 3, 5, 2]: the positions take the place of the indexed dimensions.
    const kernels::Indexing adjacent{{2, 3, 5, 2}, {1, 2}, {2}};
    CHECK(adjacent.result() == Shape({2, 2, 2}));
    CHECK(adjacent.block() == 2);
    CHECK(adjacent.offsets({first, second}) == Shape({10, 18, 40, 48}));
    // x[i, :, j] of [2, 3, 5]: a slice is between two indexed dimensions, so that the positions come first.
    const kernels::Indexing apart{{2, 3, 5}, {0, 2}, {2}};
    CHECK(apart.result() == Shape({2, 3}));
    CHECK(apart.offsets({first, second}) == Shape({15, 20, 25, 4, 9, 14}));
    const kernels::Indexing one{{3}, {0}, {}};
    CHECK(one.result() == Shape());
    CHECK(one.offsets({first}) == Shape({1}));
    const int64_t outside[] = {3}, before[] = {-4};
    CHECK_THROWS_AS(one.offsets({outside}), std::out_of_range);
    CHECK_THROWS_AS(one.offsets({before}), std::out_of_range);
}

TEST_CASE("integers_where_they_lie_and_converted") {
    const Stream stream(0);
    const Floats memory(12);
    const int64_t large = 9007199254740993;  // no double
    const int64_t stored[] = {large, -1, 2};
    std::vector<float> bytes(12);
    std::memcpy(bytes.data(), stored, sizeof(stored));
    memory.set(stream, bytes);
    const auto tensor = [&](diopiDtype_t dtype, const Shape& shape, int64_t first, uint64_t size) {
        char* const start = reinterpret_cast<char*>(memory.get()) + first;
        return sim::updates(start, size).tensor(dtype, shape, {1});
    };
    bool isInPlace = false;
    std::vector<int64_t> wide, narrow;
    CHECK_OK(sim::launch(stream, "read", {tensor(diopi_dtype_int64, {3}, 0, 24), tensor(diopi_dtype_bool, {1}, 16, 1)},
                         [&](const sim::Kernel& k) {
                             const kernels::Input<int64_t> whole(k, 0, {3}), truth(k, 1, {2});
                             isInPlace = whole.data() == k.in<int64_t>(0);
                             wide.assign(whole.data(), whole.data() + 3);
                             narrow.assign(truth.data(), truth.data() + 2);
                         }));
    CHECK_OK(sim::synchronize(stream));
    CHECK(isInPlace);
    CHECK(wide == std::vector<int64_t>({large, -1, 2}));
    CHECK(narrow == std::vector<int64_t>({1, 1}));
    // Broadcast while it is copied, and narrowed.
    CHECK_OK(sim::launch(stream, "copy", {tensor(diopi_dtype_int16, {4}, 24, 8), tensor(diopi_dtype_int64, {1}, 0, 8)},
                         [](const sim::Kernel& k) { kernels::convert(k, 0, 1); }));
    int16_t copied[4];
    std::memcpy(copied, memory.values(stream).data() + 6, sizeof(copied));
    CHECK(std::vector<int16_t>(copied, copied + 4) == std::vector<int16_t>(4, 1));
}
