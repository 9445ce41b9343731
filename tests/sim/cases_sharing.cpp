// Whether buffers of a launch share memory.
#include <diopigen_kernels/sharing.h>

#include "sim_test.h"

namespace {

// A float tensor that starts at element `at` of some memory; the pointers are never followed.
sim::Buffer floats(sim::Access access, int64_t at, std::vector<int64_t> shape, std::vector<int64_t> stride) {
    static float memory[256];
    int64_t last = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        last += (shape[d] - 1) * stride[d];
    }
    const sim::Buffer range{&memory[at], static_cast<uint64_t>(last + 1) * sizeof(float), access};
    return range.tensor(diopi_dtype_float32, std::move(shape), std::move(stride));
}

constexpr sim::Access kRead = sim::Access::read;
constexpr sim::Access kWrite = sim::Access::write;

}  // namespace

TEST_CASE("results_that_are_apart") {
    CHECK(kernels::resultsAreApart({floats(kWrite, 0, {2, 3}, {3, 1}), floats(kRead, 6, {2, 3}, {3, 1})}));
    CHECK(kernels::resultsAreApart({floats(kWrite, 0, {2, 3}, {3, 1}), floats(kRead, 0, {2, 3}, {3, 1})}));
    CHECK(kernels::resultsAreApart({floats(kRead, 0, {4}, {0}), floats(kRead, 0, {3}, {1})}));
    CHECK(kernels::resultsAreApart({floats(kWrite, 0, {2, 3}, {1, 2}), sim::Buffer{}}));
}

TEST_CASE("results_that_share_memory") {
    CHECK(!kernels::resultsAreApart({floats(kWrite, 0, {2, 3}, {3, 1}), floats(kRead, 5, {2, 3}, {3, 1})}));
    CHECK(!kernels::resultsAreApart({floats(kRead, 0, {2, 3}, {1, 2}), floats(kWrite, 0, {2, 3}, {3, 1})}));
    CHECK(!kernels::resultsAreApart({floats(kWrite, 0, {4}, {1}), floats(kWrite, 0, {4}, {1})}));
    CHECK(!kernels::resultsAreApart({floats(kWrite, 0, {2, 4}, {2, 1})}));
    CHECK(!kernels::resultsAreApart({floats(sim::Access::readWrite, 0, {4}, {0})}));
}
