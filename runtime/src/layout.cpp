#include "layout.h"

#include <diopigen/dtypes.h>

#include <algorithm>
#include <string>

#include "failure.h"

namespace diopigen {
namespace {

// As in PyTorch; beyond it a length is far more likely garbage than intent.
constexpr int64_t kMaxDimensions = 64;

int64_t multiply(int64_t left, int64_t right, const char* what) {
    int64_t product = 0;
    if (__builtin_mul_overflow(left, right, &product)) {
        fail(std::string(what) + " does not fit into int64");
    }
    return product;
}

int64_t add(int64_t left, int64_t right, const char* what) {
    int64_t sum = 0;
    if (__builtin_add_overflow(left, right, &sum)) {
        fail(std::string(what) + " does not fit into int64");
    }
    return sum;
}

std::vector<int64_t> copy_checked(const diopiSize_t& values, const char* parameter) {
    const std::string quoted = std::string("parameter '") + parameter + "'";
    if (values.len < 0 || values.len > kMaxDimensions) {
        fail(quoted + " has length " + std::to_string(values.len) + "; 0 to " + std::to_string(kMaxDimensions) +
             " are possible");
    }
    if (values.len == 0) {
        return {};
    }
    if (values.data == nullptr) {
        fail(quoted + " has length " + std::to_string(values.len) + " and null data");
    }
    for (int64_t dimension = 0; dimension < values.len; ++dimension) {
        if (values.data[dimension] < 0) {
            fail(quoted + " is negative (" + std::to_string(values.data[dimension]) + ") in dimension " +
                 std::to_string(dimension));
        }
    }
    return std::vector<int64_t>(values.data, values.data + values.len);
}

std::vector<int64_t> contiguous_stride(const std::vector<int64_t>& size) {
    std::vector<int64_t> stride(size.size());
    int64_t next = 1;
    for (size_t dimension = size.size(); dimension-- > 0;) {
        stride[dimension] = next;
        // The step beyond the first dimension is no stride, so it need not fit.
        if (dimension > 0) {
            next = multiply(next, std::max<int64_t>(size[dimension], 1), "a contiguous stride");
        }
    }
    return stride;
}

int64_t count_elements(const std::vector<int64_t>& size) {
    // Asked first, so that {2^62, 4, 0} is an empty tensor and not an overflow.
    if (std::find(size.begin(), size.end(), 0) != size.end()) {
        return 0;
    }
    int64_t numel = 1;
    for (const int64_t length : size) {
        numel = multiply(numel, length, "the number of elements");
    }
    return numel;
}

}  // namespace

diopiSize_t as_size(const std::vector<int64_t>& values) {
    if (values.empty()) {
        return diopiSize_t{nullptr, 0};
    }
    return diopiSize_t{values.data(), static_cast<int64_t>(values.size())};
}

int64_t element_size(diopiDtype_t dtype) {
    const int64_t bytes = element_bytes(dtype);
    if (bytes == 0) {
        throw Failure(diopiDtypeNotSupported,
                      "dtype " + std::to_string(static_cast<int>(dtype)) + " has no element size");
    }
    return bytes;
}

Layout make_layout(const diopiSize_t* size, const diopiSize_t* stride) {
    require_not_null(size, "size");
    Layout layout;
    layout.size = copy_checked(*size, "size");
    layout.numel = count_elements(layout.size);
    if (stride == nullptr) {
        layout.stride = contiguous_stride(layout.size);
        return layout;
    }
    layout.stride = copy_checked(*stride, "stride");
    if (layout.stride.size() != layout.size.size()) {
        fail("parameter 'stride' has length " + std::to_string(layout.stride.size()) +
             ", parameter 'size' has length " + std::to_string(layout.size.size()));
    }
    return layout;
}

int64_t reached_bytes(const Layout& layout, int64_t storage_offset, int64_t element_size) {
    if (storage_offset < 0) {
        fail("parameter 'storage_offset' is negative (" + std::to_string(storage_offset) + ")");
    }
    const char* const what = "the size of the storage";
    int64_t elements = storage_offset;
    if (layout.numel > 0) {
        elements = add(elements, 1, what);
        for (size_t dimension = 0; dimension < layout.size.size(); ++dimension) {
            elements = add(elements, multiply(layout.size[dimension] - 1, layout.stride[dimension], what), what);
        }
    }
    return multiply(elements, element_size, what);
}

}  // namespace diopigen
