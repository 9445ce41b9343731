// Lists of index tensors and masks, as NumPy and PyTorch read them.
#ifndef DIOPI_CPU_FUNCTIONS_INDEXING_ADVANCED_H_
#define DIOPI_CPU_FUNCTIONS_INDEXING_ADVANCED_H_

#include <vector>

#include "diopi_cpu/words.h"

namespace diopi::cpu {

// What a list of indices picks from a tensor. With the dimensions in `order` the tensor is [outer, size, inner], and
// the result is [outer, positions, inner]: the indexed dimensions stand where they were, or first where a full slice
// lies between two of them.
struct Advanced {
    std::vector<int64_t> order;
    std::vector<int64_t> shape;      // of the result
    std::vector<int64_t> positions;  // each in [0, size)
    Around place;
    std::vector<Tensor> tensors;  // the indices that are not null

    int64_t count() const { return static_cast<int64_t>(positions.size()); }
    // `other` lies on the device of the indices.
    void require_one_device(const Tensor& other) const;
    // The same, and it shares no memory with them.
    void require_apart(const Tensor& written) const;
};

Advanced advanced(const Tensor& input, const diopiConstTensorHandle_t* indices, const char* count_name, int64_t count);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_INDEXING_ADVANCED_H_
