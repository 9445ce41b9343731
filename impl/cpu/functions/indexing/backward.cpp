// Gradients of IndexSelect and Embedding, which add slices up, and EmbeddingRenorm_.
#include <diopi/functions.h>

#include <cmath>
#include <limits>

#include "positions.h"

using namespace diopi::cpu;

namespace {

// The norm of a row, as torch.norm defines it for every order.
template <typename T>
double norm(const T* row, int64_t length, double order) {
    double result = order == -std::numeric_limits<double>::infinity() ? std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < length; ++i) {
        const double size = std::abs(static_cast<double>(row[i]));
        if (std::isnan(size)) {
            return size;
        }
        if (std::isinf(order)) {
            result = order > 0 ? std::max(result, size) : std::min(result, size);
        } else if (order == 0) {
            result += size != 0;
        } else {
            result += order == 2 ? size * size : order == 1 ? size : std::pow(size, order);
        }
    }
    if (order == 2) {
        return std::sqrt(result);
    }
    return std::isinf(order) || order == 0 || order == 1 ? result : std::pow(result, 1 / order);
}

}  // namespace

DIOPI_API diopiError_t diopiIndexSelectBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                diopiConstTensorHandle_t grad, diopiSize_t input_sizes, int64_t dim,
                                                diopiConstTensorHandle_t index) {
    return guarded("diopiIndexSelectBackward", [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad", grad, kFloating | kComplex);
        const Tensor index_tensor = tensor("index", index, kIndex);
        require_same_dtype(result, gradient);
        std::vector<int64_t> shape = sizes_of("input_sizes", input_sizes);
        require_shape(result, shape);
        const int64_t at = dimension("dim", dim, result.rank);
        require_rank(index_tensor, 1, 1);
        const Around place = around(shape_at_least_1d(result), at);
        if (result.rank > 0) {
            shape[at] = index_tensor.numel;
        } else {
            require(index_tensor.numel == 1, "parameter 'index' names more than the one slice of 0-d tensors");
        }
        require_shape(gradient, shape);
        require_one_device({&result, &gradient, &index_tensor});
        require_no_overlap(result);
        require_disjoint(result, gradient);
        require_disjoint(result, index_tensor);
        const Positions positions(index_tensor, place.size);
        dispatch_compute<kFloating | kComplex>(result.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(gradient);
            const Output<T> sums(result);
            std::fill_n(sums.data(), result.numel, T(0));
            add_slices(sums.data(), source.data(), positions, positions.count(), place);
            sums.store();
        });
    });
}

DIOPI_API diopiError_t diopiEmbeddingBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t grad, diopiConstTensorHandle_t indices,
                                              int64_t num_weights, int64_t padding_idx, bool scale_grad_byfreq,
                                              bool /*sparse: the result is dense in any case*/) {
    return guarded("diopiEmbeddingBackward", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor grad_tensor = tensor("grad", grad, kFloating);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_same_dtype(out_tensor, grad_tensor);
        require(num_weights >= 0, "parameter 'num_weights' is negative");
        require_rank(grad_tensor, 1);
        const int64_t width = grad_tensor.shape[grad_tensor.rank - 1];
        require_shape(out_tensor, {num_weights, width});
        std::vector<int64_t> shape = shape_of(indices_tensor);
        shape.push_back(width);
        require_shape(grad_tensor, shape);
        require_one_device({&out_tensor, &grad_tensor, &indices_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, grad_tensor);
        require_disjoint(out_tensor, indices_tensor);
        const Positions rows(indices_tensor, num_weights);
        std::vector<int64_t> times(static_cast<size_t>(scale_grad_byfreq ? num_weights : 0), 0);
        for (int64_t k = 0; scale_grad_byfreq && k < rows.count(); ++k) {
            ++times[rows[k]];
        }
        dispatch_compute<kFloating>(out_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(grad_tensor);
            const Output<T> sums(out_tensor);
            std::fill_n(sums.data(), out_tensor.numel, T(0));
            parallel_columns(1, width, rows.count(), [&](int64_t, int64_t begin, int64_t end) {
                for (int64_t k = 0; k < rows.count(); ++k) {
                    const int64_t row = rows[k];
                    if (row != padding_idx) {
                        add_to(sums.data() + row * width + begin, source.data() + k * width + begin, end - begin);
                    }
                }
                for (int64_t row = 0; row < static_cast<int64_t>(times.size()); ++row) {
                    for (int64_t i = begin; times[row] > 1 && i < end; ++i) {
                        sums[row * width + i] /= static_cast<T>(times[row]);
                    }
                }
            });
            sums.store();
        });
    });
}

DIOPI_API diopiError_t diopiEmbeddingRenorm_(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t inout,
                                             diopiConstTensorHandle_t indices, double max_norm, double norm_type) {
    return guarded("diopiEmbeddingRenorm_", [&] {
        const Tensor table = tensor("inout", inout, kFloating);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_rank(table, 2, 2);
        require_one_device({&table, &indices_tensor});
        require_no_overlap(table);
        require_disjoint(table, indices_tensor);
        const int64_t width = table.shape[1];
        const Positions positions(indices_tensor, table.shape[0]);
        std::vector<int64_t> rows;
        for (int64_t k = 0; k < positions.count(); ++k) {
            rows.push_back(positions[k]);
        }
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        // Row by row, so that the others are not even rewritten.
        parallel_for(static_cast<int64_t>(rows.size()), row_grain(width), [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
                const View view = selected(table, 0, rows[k]);
                dispatch_compute<kFloating>(table.dtype, [&](auto sample) {
                    using T = decltype(sample);
                    const Changed changed(view.tensor(), dtype_of<T>);
                    T* row = changed.as<T>();
                    const double size = norm(row, width, norm_type);
                    if (size > max_norm) {
                        const double factor = max_norm / (size + 1e-7);
                        for (int64_t i = 0; i < width; ++i) {
                            row[i] = static_cast<T>(row[i] * factor);
                        }
                        changed.store();
                    }
                });
            }
        });
    });
}
