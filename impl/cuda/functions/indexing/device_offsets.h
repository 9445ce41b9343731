// Where the elements of an index tensor are in a row-major target of the same rank, as kernels work it out.
#ifndef DIOPI_CUDA_INDEXING_OFFSETS_H_
#define DIOPI_CUDA_INDEXING_OFFSETS_H_

#include <vector>

#include "diopi_cuda/operand.h"
#include "indexing/indexing_kernels.h"

namespace diopigen::cuda {

// A position as it may be passed: negative ones count from the end.
DIOPI_DEVICE inline int64_t from_start(Int64 position, int64_t size) {
    return position.value < 0 ? position.value + size : position.value;
}

struct DeviceOffsets {
    int rank = 0;
    int at = 0;
    int64_t sizes[kMaxDims];  // of the index
    Divider dividers[kMaxDims];
    int64_t strides[kMaxDims];  // of the target, in elements
    int64_t columns = 1;        // elements of the index in the other dimensions than `at`
    int64_t inner = 1;          // elements of the index behind it

    DeviceOffsets(const std::vector<int64_t>& target, const std::vector<int64_t>& index, int64_t dim)
        : rank(static_cast<int>(index.size())), at(static_cast<int>(dim)) {
        require(rank <= kMaxDims, "parameter 'index' has too many dimensions");
        int64_t stride = 1;
        for (int d = rank - 1; d >= 0; --d) {
            sizes[d] = index[d];
            dividers[d] = Divider(index[d]);
            strides[d] = stride;
            stride *= target[d];
            columns *= d == at ? 1 : index[d];
            inner *= d > at ? index[d] : 1;
        }
    }

    int64_t count() const { return columns * sizes[at]; }

    // The number of the index's element in a column.
    DIOPI_DEVICE int64_t element(int64_t column, int64_t k) const {
        return (column / inner * sizes[at] + k) * inner + column % inner;
    }
    // Where element `k` of the index points to.
    DIOPI_DEVICE int64_t offset(int64_t k, int64_t position) const {
        int64_t result = position * strides[at];
        if (k <= kMaxShort) {
            auto rest = static_cast<uint32_t>(k);
            DIOPI_NO_UNROLL
            for (int d = rank - 1; d >= 0; --d) {
                const uint32_t outer = dividers[d].split(rest);
                result += d == at ? 0 : rest * strides[d];
                rest = outer;
            }
            return result;
        }
        DIOPI_NO_UNROLL
        for (int d = rank - 1; d >= 0; --d) {
            result += d == at ? 0 : k % sizes[d] * strides[d];
            k /= sizes[d];
        }
        return result;
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_INDEXING_OFFSETS_H_
