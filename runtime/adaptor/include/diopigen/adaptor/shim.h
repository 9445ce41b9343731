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
constexpr int layoutShift = 16;

__attribute__((always_inline)) inline bool fitsDescription(const Rule& rule, std::uint32_t word) {
    // Bit 31, nothing known, is in no mask of a rule that demands anything; so it is asked for first.
    if (static_cast<std::int32_t>(word) < 0 || rule.converts(static_cast<diopiDtype_t>(word & 0xffU))) {
        return false;
    }
    const std::uint32_t rank = (word >> 8) & 0x7fU;
    const std::uint8_t layouts = rule.layoutsOf(rank);
    return rule.admitsRank(rank) &&
           (layouts == 0 || ((word >> layoutShift) & layouts & (rowMajor | channelsLast)) != 0);
}

// Whether the first element of a tensor is where the operator can take it.
__attribute__((noinline)) inline bool startsAligned(const Rule& rule, diopiConstTensorHandle_t tensor) {
    const void* data = nullptr;
    return diopiGetTensorDataConst(tensor, &data) == diopiSuccess && rule.isAligned(data);
}

// The same question to a host that describes no tensors.
__attribute__((noinline)) inline bool fitsInParts(const Rule& rule, diopiConstTensorHandle_t tensor) {
    if (rule.casts != 0) {
        diopiDtype_t dtype;
        if (diopiGetTensorDtype(tensor, &dtype) != diopiSuccess || rule.converts(dtype)) {
            return false;
        }
    }
    if (!rule.demandsLayout && rule.mostDimensions == 0) {
        return true;
    }
    diopiSize_t size;
    diopiSize_t stride;
    if (diopiGetTensorShape(tensor, &size) != diopiSuccess || !rule.admitsRank(size.len)) {
        return false;
    }
    const std::uint8_t layouts = rule.layoutsOf(size.len);
    return layouts == 0 || (diopiGetTensorStride(tensor, &stride) == diopiSuccess && stride.len == size.len &&
                            layoutFits(layouts, size, stride));
}

__attribute__((always_inline)) inline bool fitsOne(const Rule& rule, diopiConstTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return true;
    }
    if (diopiHostDescribeTensor == nullptr) {
        return fitsInParts(rule, tensor) && (rule.alignment == 1 || startsAligned(rule, tensor));
    }
    const std::uint32_t word = diopiHostDescribeTensor(tensor);
    if (!fitsDescription(rule, word)) {
        return false;
    }
    // Elements are at multiples of their own size.
    return rule.alignment == 1 || elementBytes(static_cast<diopiDtype_t>(word & 0xffU)) >= rule.alignment ||
           startsAligned(rule, tensor);
}

// Whether the operator can take the tensors as they are. A failure counts as no: the Call that follows reports it.
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first) {
    return fitsOne(rule, first);
}
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first,
                                           diopiConstTensorHandle_t second) {
    return fitsOne(rule, first) && fitsOne(rule, second);
}
__attribute__((noinline)) inline bool fits(const Rule& rule, diopiConstTensorHandle_t first,
                                           diopiConstTensorHandle_t second, diopiConstTensorHandle_t third) {
    return fitsOne(rule, first) && fitsOne(rule, second) && fitsOne(rule, third);
}
__attribute__((noinline)) inline bool allFit(const Rule& rule, const diopiConstTensorHandle_t* tensors,
                                             std::int64_t count) {
    for (std::int64_t i = 0; tensors != nullptr && i < count; ++i) {
        if (!fitsOne(rule, tensors[i])) {
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
inline diopiDtype_t dtypeOf(diopiConstTensorHandle_t tensor) {
    diopiDtype_t dtype = diopi_dtype_unsupported;
    return tensor != nullptr && diopiGetTensorDtype(tensor, &dtype) == diopiSuccess ? dtype : diopi_dtype_unsupported;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_SHIM_H_
