// Which dimensions an operator reduces, and the tensor seen as rows: one row of `length` elements per result.
#ifndef DIOPI_CORE_REDUCTION_H_
#define DIOPI_CORE_REDUCTION_H_

#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/tensor.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

struct Rows {
    std::vector<int64_t> outer;    // dimensions that stay, in order
    std::vector<int64_t> reduced;  // the others
    int64_t count = 1;
    int64_t length = 1;

    // The dimensions in the order that makes each row contiguous.
    std::vector<int64_t> order() const;
};

// All dimensions where `dims` is empty; checks range and repetition of `dims`, negative ones count from the end.
Rows rows_over(const Tensor& input, const char* name, diopiSize_t dims);

// How many rows of this length make a part that is worth a thread.
inline int64_t row_grain(int64_t length) { return 1 + 16384 / (length + 1); }

}  // namespace diopigen::core

#endif  // DIOPI_CORE_REDUCTION_H_
