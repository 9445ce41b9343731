#include "linalg_matmul/batches.h"

namespace diopigen::core {

Conjugated::Conjugated(const Tensor& tensor) {
    if (!is_complex(tensor.dtype)) {
        view_.emplace(tensor, shape_of(tensor), std::vector<int64_t>(tensor.strides, tensor.strides + tensor.rank));
        return;
    }
    dispatch<kComplex>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        if constexpr (is_complex_type<T>) {
            const Input<T> values(tensor);
            copy_.allocate(tensor.numel * size_of(tensor.dtype));
            std::transform(values.data(), values.data() + tensor.numel, static_cast<T*>(copy_.data()),
                           [](T x) { return std::conj(x); });
        }
    });
    view_.emplace(dense_view(copy_.data(), tensor.dtype, tensor, shape_of(tensor)));
}

}  // namespace diopigen::core
