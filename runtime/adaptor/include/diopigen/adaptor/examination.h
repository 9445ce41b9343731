// What a tensor of the caller is, and what its rule wants it to become.
#ifndef DIOPIGEN_ADAPTOR_EXAMINATION_H_
#define DIOPIGEN_ADAPTOR_EXAMINATION_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "conversion.h"
#include "error.h"
#include "geometry.h"
#include "rule.h"

namespace diopigen {
namespace adaptor {
namespace {

// Whether both are the same elements of the same memory: a framework may have several handles of one tensor.
inline bool same_memory(const Tensor& left, const Tensor& right) {
    return left.handle == right.handle ||
           (left.data != nullptr && left.data == right.data && left.dtype == right.dtype &&
            same_sizes(left.size, right.size) && same_strides(left.size, left.stride, right.stride));
}

// Whether a tensor that has none of the layouts gets its channels last.
inline bool wants_channels_last(std::uint8_t layouts) {
    return (layouts & kRowMajor) == 0 || (layouts & kRatherChannelsLast) != 0;
}

// Fills in `tensor` and `target`. `needed` stays false for a tensor that can stay as it is.
inline diopiError_t examine(const Site& at, const Rule& rule, diopiConstTensorHandle_t handle, Tensor& tensor,
                            Target& target, bool& needed) {
    tensor.handle = handle;
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDtype", diopiGetTensorDtype(handle, &tensor.dtype));
    const bool casts = rule.converts(tensor.dtype);
    if (!casts && !rule.demands_layout && rule.most_dimensions == 0 && rule.alignment == 1) {
        return diopiSuccess;
    }
    bool is_sparse = false;
    if (diopiIsTensorSparse != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiIsTensorSparse", diopiIsTensorSparse(handle, &is_sparse));
    }
    if (is_sparse) {
        // It has no strides, so no layout either.
        return !casts ? diopiSuccess
                      : fail(at.helpers, diopiDtypeNotSupported,
                             "%s, parameter '%s': a sparse tensor of %s cannot be converted", at.function, at.parameter,
                             dtype_name(tensor.dtype));
    }
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorShape", diopiGetTensorShape(handle, &tensor.size));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStride", diopiGetTensorStride(handle, &tensor.stride));
    if (tensor.size.len != tensor.stride.len || tensor.size.len < 0 || tensor.size.len > kMaxRank) {
        return fail(at.helpers, diopiErrorOccurred, "%s, parameter '%s': %lld sizes with %lld strides", at.function,
                    at.parameter, static_cast<long long>(tensor.size.len), static_cast<long long>(tensor.stride.len));
    }
    const std::uint8_t layouts = rule.layouts_of(tensor.size.len);
    const bool fits = layout_fits(layouts, tensor.size, tensor.stride);
    if (!casts && fits && rule.admits_rank(tensor.size.len) && rule.alignment == 1) {
        return diopiSuccess;
    }
    // The limits are those of the device: what is in host memory is read by the CPU.
    diopiDevice_t device = diopi_device;
    if (diopiGetTensorDevice != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDevice", diopiGetTensorDevice(handle, &device));
    }
    if (device == diopi_host) {
        return diopiSuccess;
    }
    if (!rule.admits_rank(tensor.size.len)) {
        // No conversion helps: the call is for the fallback.
        return fail(at.helpers, diopiNoImplement, "%s, parameter '%s': %lld dimensions; the chip takes at most %d",
                    at.function, at.parameter, static_cast<long long>(tensor.size.len),
                    static_cast<int>(rule.most_dimensions));
    }
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDataConst", diopiGetTensorDataConst(handle, &tensor.data));
    if (!casts && fits && (rule.is_aligned(tensor.data) || is_empty(tensor.size))) {
        return diopiSuccess;
    }
    target.dtype = rule.target_of(tensor.dtype);
    if (fits) {
        target.stride = compact_strides(tensor.size, tensor.stride);
    } else {
        target.stride =
            wants_channels_last(layouts) ? channels_last_strides(tensor.size) : row_major_strides(tensor.size);
    }
    needed = true;
    return diopiSuccess;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_EXAMINATION_H_
