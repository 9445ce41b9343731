#include "batches.h"

namespace diopigen::core {

AsMatrix::AsMatrix(const Tensor& tensor, bool is_read) : original_(tensor) {
    const int64_t columns = tensor.rank == 0 ? 1 : tensor.shape[tensor.rank - 1];
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < tensor.rank; ++i) {
        rows *= tensor.shape[i];
    }
    const int64_t stride = tensor.rank == 0 ? 1 : tensor.strides[tensor.rank - 1];
    // Leading dimensions count as one where each strides over all rows of the next.
    bool is_uniform = true;
    int64_t row_stride = columns;
    int64_t expected = 0;
    for (int64_t i = tensor.rank - 1; i-- > 0;) {
        if (tensor.shape[i] == 1) {
            continue;
        }
        if (expected == 0) {
            row_stride = tensor.strides[i];
        } else {
            is_uniform = is_uniform && tensor.strides[i] == expected;
        }
        expected = tensor.strides[i] * tensor.shape[i];
        is_uniform = is_uniform && tensor.strides[i] != 0;
    }
    if (is_uniform) {
        view_.emplace(tensor, std::vector<int64_t>{1, rows, columns}, std::vector<int64_t>{0, row_stride, stride});
        return;
    }
    copy_.allocate(tensor.numel * size_of(tensor.dtype));
    if (is_read) {
        copy_elements(dense_view(copy_.data(), tensor.dtype, tensor, shape_of(tensor)).tensor(), tensor);
    }
    view_.emplace(dense_view(copy_.data(), tensor.dtype, tensor, {1, rows, columns}));
}

void AsMatrix::store() const {
    if (copy_.data() != nullptr) {
        copy_elements(original_, dense_view(copy_.data(), original_.dtype, original_, shape_of(original_)).tensor());
    }
}

}  // namespace diopigen::core
