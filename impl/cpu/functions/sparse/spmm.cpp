// SpMM: a matrix in compressed sparse rows times a dense one. Sums are kept in double, entry by entry in stored order.
#include <diopi/functions_sparse.h>

#include <string>

#include "kernels.h"

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

}  // namespace

const char* diopi::cpu::text_of(CsrFault fault) {
    switch (fault) {
        case CsrFault::kEnds:
            return "parameter 'input': crow_indices does not run from 0 to the number of values";
        case CsrFault::kFalls:
            return "parameter 'input': crow_indices falls";
        default:
            return "parameter 'input': col_indices holds a column that the matrix does not have";
    }
}

DIOPI_API diopiError_t diopiSpMM(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t mat2) {
    return guarded("diopiSpMM", ctx, [&] {
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
        require_csr(starts, columns, rows, shape.data[1], sparse.values.numel);
        multiply_sparse(out_tensor, sparse.values, mat2_tensor, starts, columns);
    });
}
