// Shapes, strides and sizes: all arithmetic on numbers that come from outside is checked here.
#ifndef DIOPIGEN_RUNTIME_LAYOUT_H_
#define DIOPIGEN_RUNTIME_LAYOUT_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <vector>

namespace diopigen {

/// Shape and strides of a tensor, in elements; none is negative.
struct Layout {
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
    int64_t numel = 1;
};

/// A view of `values` as the interface has it: no dimensions are {nullptr, 0}.
diopiSize_t as_size(const std::vector<int64_t>& values);

/// Bytes of one element. Throws diopiDtypeNotSupported for diopi_dtype_unsupported and for values outside the enum.
int64_t element_size(diopiDtype_t dtype);

/// Checks what a caller passes as `size` and `stride` (null for contiguous). Contiguous strides count dimensions of
/// size 0 as 1. Throws when something is null, negative, of unequal length or does not fit into int64.
Layout make_layout(const diopiSize_t* size, const diopiSize_t* stride);

/// Bytes from the start of the storage to the end of the last element that is reached, starting `storage_offset`
/// elements into it. Throws when the offset is negative or the result does not fit into int64.
int64_t reached_bytes(const Layout& layout, int64_t storage_offset, int64_t element_size);

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_LAYOUT_H_
