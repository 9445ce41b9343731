// What generated shims build on. Include it in one file per vendor.
//
// A shim asks whether every tensor is as its rule demands, without a single allocation; where that is so it passes the
// call on. Otherwise a Call makes what the operator can take, and brings the results back.
#ifndef DIOPIGEN_ADAPTOR_SHIM_H_
#define DIOPIGEN_ADAPTOR_SHIM_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "call.h"
#include "error.h"
#include "geometry.h"
#include "rule.h"

// The calls of every tensor of every operator go through the table of addresses, without the jump in between.
#if defined(__GNUC__) && !defined(__clang__)
extern "C" {
DIOPI_RT_API diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) __attribute__((noplt));
DIOPI_RT_API diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) __attribute__((noplt));
DIOPI_RT_API diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) __attribute__((noplt));
DIOPI_ATTR_WEAK std::uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t tensor) __attribute__((noplt));
}
#endif

namespace diopigen {
namespace adaptor {
namespace {

// The layout bits of a rule are in the word of diopiHostDescribeTensor from here on.
constexpr int kLayoutShift = 16;

__attribute__((always_inline)) inline bool fits_description(const Rule& rule, std::uint32_t word) {
    // Bit 31, nothing known, is in no mask of a rule that demands anything; so it is asked for first.
    if (static_cast<std::int32_t>(word) < 0 || rule.converts(static_cast<diopiDtype_t>(word & 0xffU))) {
        return false;
    }
    const std::uint32_t rank = (word >> 8) & 0x7fU;
    const std::uint8_t layouts = rule.layouts_of(rank);
    return rule.admits_rank(rank) &&
           (layouts == 0 || ((word >> kLayoutShift) & layouts & (kRowMajor | kChannelsLast)) != 0);
}

// Whether the first element of a tensor is where the operator can take it.
__attribute__((noinline)) inline bool starts_aligned(const Rule& rule, diopiConstTensorHandle_t tensor) {
    const void* data = nullptr;
    return diopiGetTensorDataConst(tensor, &data) == diopiSuccess && rule.is_aligned(data);
}

// The same question to a host that describes no tensors.
__attribute__((noinline)) inline bool fits_in_parts(const Rule& rule, diopiConstTensorHandle_t tensor) {
    if (rule.casts != 0) {
        diopiDtype_t dtype;
        if (diopiGetTensorDtype(tensor, &dtype) != diopiSuccess || rule.converts(dtype)) {
            return false;
        }
    }
    if (!rule.demands_layout && rule.most_dimensions == 0) {
        return true;
    }
    diopiSize_t size;
    diopiSize_t stride;
    if (diopiGetTensorShape(tensor, &size) != diopiSuccess || !rule.admits_rank(size.len)) {
        return false;
    }
    const std::uint8_t layouts = rule.layouts_of(size.len);
    return layouts == 0 || (diopiGetTensorStride(tensor, &stride) == diopiSuccess && stride.len == size.len &&
                            layout_fits(layouts, size, stride));
}

__attribute__((always_inline)) inline bool fits_one(const Rule& rule, diopiConstTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return true;
    }
    if (diopiHostDescribeTensor == nullptr) {
        return fits_in_parts(rule, tensor) && (rule.alignment == 1 || starts_aligned(rule, tensor));
    }
    const std::uint32_t word = diopiHostDescribeTensor(tensor);
    if (!fits_description(rule, word)) {
        return false;
    }
    // Elements are at multiples of their own size.
    return rule.alignment == 1 || element_bytes(static_cast<diopiDtype_t>(word & 0xffU)) >= rule.alignment ||
           starts_aligned(rule, tensor);
}

// Whether the operator can take the tensors as they are. A failure counts as no: the Call that follows reports it.
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first) {
    return fits_one(rule, first);
}
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first,
                                           diopiConstTensorHandle_t second) {
    return fits_one(rule, first) && fits_one(rule, second);
}
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first,
                                           diopiConstTensorHandle_t second, diopiConstTensorHandle_t third) {
    return fits_one(rule, first) && fits_one(rule, second) && fits_one(rule, third);
}
__attribute__((noinline)) inline bool all_fit(const Rule& rule, const diopiConstTensorHandle_t* tensors,
                                              std::int64_t count) {
    for (std::int64_t i = 0; tensors != nullptr && i < count; ++i) {
        if (!fits_one(rule, tensors[i])) {
            return false;
        }
    }
    return true;
}

// The way of a call that needs no conversion.
template <class... Parameters>
inline diopiError_t pass(diopiError_t (*function)(Parameters...), Parameters... parameters) {
    return finished(function(parameters...));
}

// The dtype of a tensor of the caller, to be asked before the tensor is replaced; unsupported for null.
inline diopiDtype_t dtype_of(diopiConstTensorHandle_t tensor) {
    diopiDtype_t dtype = diopi_dtype_unsupported;
    return tensor != nullptr && diopiGetTensorDtype(tensor, &dtype) == diopiSuccess ? dtype : diopi_dtype_unsupported;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_SHIM_H_
