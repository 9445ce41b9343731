// SpMM: a matrix in compressed sparse rows times a dense one. Sums are accumulated in double, entry by entry in stored
// order.
#include <string>

#include "diopi_core/kernel_checks.h"
#include "sparse.h"
#include "sparse_kernels.h"

using namespace diopigen::core;

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
    bool is_sparse = false;
    require(diopiIsTensorSparse != nullptr && diopiIsTensorSparse(input, &is_sparse) == diopiSuccess && is_sparse,
            "parameter 'input' is not in compressed sparse rows");
    return {part("crow_indices of input", input, diopiGetTensorCrowIndices, kIndex),
            part("col_indices of input", input, diopiGetTensorColIndices, kIndex),
            part("values of input", input, diopiGetTensorValues, kFloating)};
}

}  // namespace

const char* diopigen::core::text_of(CsrFault fault) {
    switch (fault) {
        case CsrFault::kEnds:
            return "parameter 'input': crow_indices does not run from 0 to the number of values";
        case CsrFault::kFalls:
            return "parameter 'input': crow_indices falls";
        default:
            return "parameter 'input': col_indices holds a column that the matrix does not have";
    }
}

void diopigen::entry::sp_mm(const SpMMArgs& args) {
    const Csr sparse = csr_of(args.input.handle);
    const int64_t rows = args.input.shape[0];
    require_same_dtype(sparse.values, args.out);
    require_shape(sparse.starts, {rows + 1});
    require_shape(sparse.columns, {sparse.values.numel});
    require_one_device({&args.out, &sparse.values, &sparse.starts, &sparse.columns});
    require_separate({&args.out}, {&args.mat2, &sparse.values, &sparse.starts, &sparse.columns});
    const Input<Int64> starts(sparse.starts);
    const Input<Int64> columns(sparse.columns);
    require_csr(starts, columns, rows, args.input.shape[1], sparse.values.numel);
    multiply_sparse(args.out, sparse.values, args.mat2, starts, columns);
}
