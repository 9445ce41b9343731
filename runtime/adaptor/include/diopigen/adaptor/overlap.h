// Whether the tensors of a call share memory in a way that temporaries would hide from the operator.
#ifndef DIOPIGEN_ADAPTOR_OVERLAP_H_
#define DIOPIGEN_ADAPTOR_OVERLAP_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "buffer.h"
#include "conversion.h"
#include "error.h"
#include "examination.h"
#include "geometry.h"
#include "narrowing.h"

namespace diopigen {
namespace adaptor {
namespace {

// The memory of a tensor without gaps between its elements. With gaps, ranges that meet need not share an element.
struct Extent {
    const char* parameter;
    Tensor tensor;
    const char* begin;
    const char* end;
    bool written;
};

// `extent.begin` stays null where nothing can be said: no elements, gaps, or a sparse tensor.
inline diopiError_t measure(const Site& at, diopiConstTensorHandle_t handle, Extent& extent) {
    bool is_sparse = false;
    if (diopiIsTensorSparse != nullptr) {
        DIOPIGEN_ADAPTOR_CALL(at, "diopiIsTensorSparse", diopiIsTensorSparse(handle, &is_sparse));
    }
    if (is_sparse) {
        return diopiSuccess;
    }
    Tensor& tensor = extent.tensor;
    tensor.handle = handle;
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDtype", diopiGetTensorDtype(handle, &tensor.dtype));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorShape", diopiGetTensorShape(handle, &tensor.size));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorStride", diopiGetTensorStride(handle, &tensor.stride));
    DIOPIGEN_ADAPTOR_CALL(at, "diopiGetTensorDataConst", diopiGetTensorDataConst(handle, &tensor.data));
    std::int64_t count = 1;
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < tensor.size.len; ++i) {
        count *= tensor.size.data[i];
        last += (tensor.size.data[i] - 1) * tensor.stride.data[i];
    }
    if (count > 0 && last == count - 1) {
        extent.begin = static_cast<const char*>(tensor.data);
        extent.end = extent.begin + count * element_bytes(tensor.dtype);
    }
    return diopiSuccess;
}

// No more than fit on the stack: a call with longer arrays is compared among its first tensors only.
constexpr std::int64_t kMostExtents = 24;
using Extents = Buffer<Extent, kMostExtents>;

// Adds a tensor. Fails where it shares a part of its memory with another one, and one of them is written: the operator
// would not see it, and could not refuse the call. The whole of it may be shared.
inline diopiError_t add_extent(const Site& at, Extents& extents, diopiConstTensorHandle_t handle, bool written) {
    Extent added = {};
    added.parameter = at.parameter;
    added.written = written;
    const diopiError_t status = measure(at, handle, added);
    if (status != diopiSuccess || added.begin == nullptr) {
        return status;
    }
    for (const Extent& other : extents) {
        const bool meets = added.begin < other.end && other.begin < added.end;
        if (meets && (written || other.written) && !same_memory(added.tensor, other.tensor)) {
            return fail(at.helpers, diopiErrorOccurred, "%s, parameters '%s' and '%s' share a part of their memory",
                        at.function, other.parameter, at.parameter);
        }
    }
    if (extents.size() < kMostExtents) {
        extents.add(added);
    }
    return diopiSuccess;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_OVERLAP_H_
