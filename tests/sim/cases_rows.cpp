// Sums, maxima and log-sum-exp of rows: every element counts, whatever the size, and extremes stay what they are.
#include <diopigen_kernels/rows.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim_test.h"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Powers of two, each in the sum once: a sum that leaves an element out or counts it twice shows which.
template <typename Value>
std::vector<Value> powersOfTwo(int64_t size) {
    std::vector<Value> values(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) {
        values[static_cast<size_t>(i)] = static_cast<Value>(std::ldexp(1.0, static_cast<int>(i)));
    }
    return values;
}

}  // namespace

TEST_CASE("sums_have_every_element_once") {
    for (int64_t size = 0; size <= 40; ++size) {
        const double expected = std::ldexp(1.0, static_cast<int>(size)) - 1;
        CHECK(kernels::sumOf(powersOfTwo<float>(size).data(), size) == expected);
        CHECK(kernels::sumOf(powersOfTwo<double>(size).data(), size) == expected);
        CHECK(kernels::sumOf(powersOfTwo<int64_t>(size).data(), size) == expected);
    }
}

TEST_CASE("the_largest_is_found_at_every_index") {
    for (int64_t size = 1; size <= 20; ++size) {
        for (int64_t at = 0; at < size; ++at) {
            std::vector<float> values(static_cast<size_t>(size), -2);
            values[static_cast<size_t>(at)] = -1;
            CHECK(kernels::largestOf(values.data(), size) == -1);
        }
    }
}

TEST_CASE("log_sum_exp_neither_overflows_nor_loses_the_type") {
    const std::vector<float> large = {1000, 1000}, small = {-1000, -1000};
    CHECK(kernels::logSumExp(large.data(), 2) == 1000 + std::log(2.0));
    CHECK(kernels::logSumExp(small.data(), 2) == -1000 + std::log(2.0));
    const std::vector<double> none(9, -kInfinity), some = {-kInfinity, 3, -kInfinity};
    CHECK(kernels::logSumExp(none.data(), 9) == -kInfinity);
    CHECK(kernels::logSumExp(some.data(), 3) == 3);
    // In double: float's exponential of -1 is off by more than 1e-9.
    const std::vector<double> two = {0, -1};
    CHECK(std::fabs(kernels::logSumExp(two.data(), 2) - std::log1p(std::exp(-1.0))) < 1e-15);
    const std::vector<double> withNan = {1, std::nan(""), 2};
    CHECK(std::isnan(kernels::logSumExp(withNan.data(), 3)));
}

TEST_CASE("log_softmax_of_equal_large_numbers_is_that_of_their_count") {
    for (const float value : {1e17F, -1e30F, std::numeric_limits<float>::lowest(), 0.0F}) {
        const std::vector<float> row(8, value);
        std::vector<float> logs(8);
        kernels::logSoftmax(row.data(), logs.data(), 8);
        CHECK(logs == std::vector<float>(8, static_cast<float>(-std::log(8.0))));
    }
    const std::vector<double> none(2, -kInfinity), some = {-kInfinity, 1e17};
    std::vector<double> logs(2);
    kernels::logSoftmax(none.data(), logs.data(), 2);
    CHECK((std::isnan(logs[0]) && std::isnan(logs[1])));
    kernels::logSoftmax(some.data(), logs.data(), 2);
    CHECK(logs == std::vector<double>{-kInfinity, 0});
}

TEST_CASE("sums_of_columns_have_every_element_once") {
    for (const int64_t columns : {1, 7, 64, 65, 200}) {
        for (const int64_t rows : {1, 2, 300}) {
            std::vector<float> x(static_cast<size_t>(rows * columns));
            std::vector<double> expected(static_cast<size_t>(columns)), sums(expected.size(), -1);
            for (int64_t i = 0; i < rows * columns; ++i) {
                x[static_cast<size_t>(i)] = static_cast<float>(i % 1013) - 500;
                expected[static_cast<size_t>(i % columns)] += x[static_cast<size_t>(i)];
            }
            kernels::sumColumns(x.data(), rows, columns, sums.data());
            CHECK(sums == expected);  // integers: exact in any order
        }
    }
}
