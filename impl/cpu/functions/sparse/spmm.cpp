// SpMM: a matrix in compressed sparse rows times a dense one. Sums are kept in double, entry by entry in stored order.
#include <diopi/functions_sparse.h>

#include <string>

#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

struct Csr {
    Tensor starts;
    Tensor columns;
    Tensor values;
};

using Getter = diopiError_t (*)(diopiConstTensorHandle_t, diopiConstTensorHandle_t*);

Tensor part(const char* name, diopiConstTensorHandle_t input, Getter get, DtypeSet allowed) {
    diopiConstTensorHandle_t handle = nullptr;
    const diopiError_t status = get == nullptr ? diopiErrorOccurred : get(input, &handle);
    if (status != diopiSuccess) {
        fail(std::string("parameter 'input': the host gives no ") + name, status);
    }
    const Tensor result = tensor(name, handle, allowed);
    require_rank(result, 1, 1);
    return result;
}

Csr csr_of(diopiConstTensorHandle_t input) {
    require(input != nullptr, "parameter 'input' is null");
    bool is_sparse = false;
    require(diopiIsTensorSparse != nullptr && diopiIsTensorSparse(input, &is_sparse) == diopiSuccess && is_sparse,
            "parameter 'input' is not in compressed sparse rows");
    return {part("crow_indices of input", input, diopiGetTensorCrowIndices, kIndex),
            part("col_indices of input", input, diopiGetTensorColIndices, kIndex),
            part("values of input", input, diopiGetTensorValues, kFloating)};
}

void require_valid(const Input<Int64>& starts, const Input<Int64>& columns, int64_t rows, int64_t width,
                   int64_t stored) {
    require(starts[0].value == 0 && starts[rows].value == stored,
            "parameter 'input': crow_indices does not run from 0 to the number of values");
    for (int64_t row = 0; row < rows; ++row) {
        require(starts[row] <= starts[row + 1], "parameter 'input': crow_indices falls");
    }
    for (int64_t i = 0; i < stored; ++i) {
        require(columns[i].value >= 0 && columns[i].value < width,
                "parameter 'input': col_indices holds a column that the matrix does not have");
    }
}

}  // namespace

DIOPI_API diopiError_t diopiSpMM(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t mat2) {
    return guarded("diopiSpMM", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Csr sparse = csr_of(input);
        const Tensor mat2_tensor = tensor("mat2", mat2, kFloating);
        diopiSize_t shape{nullptr, 0};
        require(diopiGetTensorShape(input, &shape) == diopiSuccess && shape.len == 2,
                "parameter 'input' is not a matrix");
        require_same_dtype(out_tensor, sparse.values);
        require_same_dtype(mat2_tensor, sparse.values);
        require_rank(mat2_tensor, 2, 2);
        const int64_t rows = shape.data[0];
        const int64_t width = mat2_tensor.shape[1];
        require_shape(mat2_tensor, {shape.data[1], width});
        require_shape(out_tensor, {rows, width});
        require_shape(sparse.starts, {rows + 1});
        require_shape(sparse.columns, {sparse.values.numel});
        require_one_device({&out_tensor, &mat2_tensor, &sparse.values, &sparse.starts, &sparse.columns});
        require_no_overlap(out_tensor);
        for (const Tensor* read : {&mat2_tensor, &sparse.values, &sparse.starts, &sparse.columns}) {
            require_disjoint(out_tensor, *read);
        }
        const Input<Int64> starts(sparse.starts);
        const Input<Int64> columns(sparse.columns);
        require_valid(starts, columns, rows, shape.data[1], sparse.values.numel);
        dispatch_compute<kFloating>(out_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> values(sparse.values);
            const Input<T> dense(mat2_tensor);
            const Output<T> result(out_tensor);
            const int64_t cost = width * (1 + sparse.values.numel / std::max<int64_t>(rows, 1));
            parallel_for(width > 0 ? rows : 0, row_grain(cost), [&](int64_t begin, int64_t end) {
                std::vector<double> sums(static_cast<size_t>(width));
                for (int64_t row = begin; row < end; ++row) {
                    std::fill(sums.begin(), sums.end(), 0.0);
                    for (int64_t k = starts[row].value; k < starts[row + 1].value; ++k) {
                        const double factor = values[k];
                        const T* other = dense.data() + columns[k].value * width;
                        for (int64_t i = 0; i < width; ++i) {
                            sums[i] += factor * other[i];
                        }
                    }
                    for (int64_t i = 0; i < width; ++i) {
                        result[row * width + i] = static_cast<T>(sums[i]);
                    }
                }
            });
            result.store();
        });
    });
}
