// diopiHostDescribeTensor: a tensor in one word.
#include <diopigen/host.h>

#include <cstdint>
#include <vector>

#include "facts.h"
#include "scope.h"

TEST_SUITE_BEGIN("description");

using check::ContextScope;
using check::sizeOf;

namespace {

using Values = std::vector<int64_t>;

constexpr uint32_t row_major = 0x10000;
constexpr uint32_t channels_last = 0x20000;

uint32_t word_of(const Values& size, const Values& stride, diopiDtype_t dtype) {
    const ContextScope context;
    const diopiSize_t sizes = sizeOf(size);
    const diopiSize_t strides = sizeOf(stride);
    diopiTensorHandle_t tensor = nullptr;
    CHECK_OK(diopiHostCreateTensor(context, &tensor, &sizes, &strides, 0, dtype, diopi_host));
    const uint32_t word = diopiHostDescribeTensor(tensor);
    CHECK_OK(diopiHostDestroyTensor(tensor));
    return word;
}

uint32_t formatsOf(const Values& size, const Values& stride) {
    const uint32_t word = word_of(size, stride, diopi_dtype_int8);
    CHECK_EQ(word & 0xffU, static_cast<uint32_t>(diopi_dtype_int8));
    CHECK_EQ(word >> 8 & 0x7fU, size.size());
    CHECK_EQ(word & ~(0x7fffU | row_major | channels_last), 0u);
    return word & (row_major | channels_last);
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "dtype_and_rank") {
    CHECK_EQ(word_of({2, 3}, {3, 1}, diopi_dtype_float32), row_major | 2u << 8 | 9u);
    CHECK_EQ(word_of({}, {}, diopi_dtype_complex128), row_major | 16u);
    CHECK_EQ(word_of(Values(64, 1), Values(64, 1), diopi_dtype_bool), row_major | channels_last | 64u << 8 | 11u);
}

TEST_CASE_FIXTURE(check::FakeDevice, "formats_of_images") {
    CHECK_EQ(formatsOf({2, 3, 4, 5}, {60, 20, 5, 1}), row_major);
    CHECK_EQ(formatsOf({2, 3, 4, 5}, {60, 1, 15, 3}), channels_last);
    CHECK_EQ(formatsOf({2, 3, 4}, {12, 1, 3}), channels_last);
    CHECK_EQ(formatsOf({2, 3, 2, 4, 5}, {120, 1, 60, 15, 3}), channels_last);
    CHECK_EQ(formatsOf({2, 3, 4, 5}, {1, 2, 6, 24}), 0u);
}

TEST_CASE_FIXTURE(check::FakeDevice, "one_channel_and_one_pixel_are_in_both_formats") {
    CHECK_EQ(formatsOf({2, 1, 4, 5}, {20, 20, 5, 1}), row_major | channels_last);
    CHECK_EQ(formatsOf({2, 3, 1, 1}, {3, 1, 1, 1}), row_major | channels_last);
    // Any stride will do where there is but one element.
    CHECK_EQ(formatsOf({1, 3, 1, 1}, {7, 1, 0, 9}), row_major | channels_last);
}

TEST_CASE_FIXTURE(check::FakeDevice, "channels_last_is_about_three_dimensions_and_more") {
    CHECK_EQ(formatsOf({5}, {1}), row_major);
    CHECK_EQ(formatsOf({2, 3}, {3, 1}), row_major);
    CHECK_EQ(formatsOf({2, 3}, {1, 2}), 0u);
}

TEST_CASE_FIXTURE(check::FakeDevice, "gaps_repetition_and_overlap_are_in_no_format") {
    CHECK_EQ(formatsOf({5}, {2}), 0u);
    CHECK_EQ(formatsOf({5}, {0}), 0u);
    CHECK_EQ(formatsOf({2, 3}, {4, 1}), 0u);
    CHECK_EQ(formatsOf({4, 3}, {1, 1}), 0u);
}

TEST_CASE_FIXTURE(check::FakeDevice, "no_elements_are_in_every_format") {
    CHECK_EQ(formatsOf({2, 0, 4}, {9, 9, 9}), row_major | channels_last);
    CHECK_EQ(formatsOf({0, 3}, {1, 7}), row_major);
}

TEST_CASE_FIXTURE(check::FakeDevice, "a_view_is_described_by_itself") {
    const ContextScope context;
    const diopiTensorHandle_t base = context.tensor({2, 3}, diopi_dtype_float64, diopi_host);
    const Values shape{3, 2};
    const diopiSize_t size = sizeOf(shape);
    const Values turned{1, 3};
    const diopiSize_t stride = sizeOf(turned);
    diopiTensorHandle_t view = nullptr;
    CHECK_OK(diopiHostCreateView(&view, base, &size, &stride, 0, diopi_dtype_int64));
    CHECK_EQ(diopiHostDescribeTensor(view), 2u << 8 | 6u);
    CHECK_EQ(diopiHostDescribeTensor(base), row_major | 2u << 8 | 10u);
    CHECK_OK(diopiHostDestroyTensor(view));
    CHECK_OK(diopiHostDestroyTensor(base));
}

TEST_CASE_FIXTURE(check::FakeDevice, "null_and_sparse_are_not_described") {
    const ContextScope context;
    CHECK_EQ(diopiHostDescribeTensor(nullptr), 1u << 31);
    const diopiTensorHandle_t rows = context.temporary({3}, diopi_dtype_int32, diopi_host);
    const diopiTensorHandle_t columns = context.temporary({2}, diopi_dtype_int32, diopi_host);
    const diopiTensorHandle_t values = context.temporary({2}, diopi_dtype_float32, diopi_host);
    const Values shape{2, 4};
    const diopiSize_t size = sizeOf(shape);
    diopiTensorHandle_t sparse = nullptr;
    CHECK_OK(diopiHostCreateSparseCsr(&sparse, &size, rows, columns, values));
    CHECK_EQ(diopiHostDescribeTensor(sparse), 1u << 31);
    CHECK_OK(diopiHostDestroyTensor(sparse));
}

TEST_SUITE_END();
