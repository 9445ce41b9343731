// LinalgQR by Householder reflections, with the signs of LAPACK's geqrf; in double or complex<double>.
#include <diopi/functions.h>

#include <cstring>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kFactored = kFloat32 | kFloat64 | kComplex;

}  // namespace

DIOPI_API diopiError_t diopiLinalgQR(diopiContextHandle_t ctx, diopiConstTensorHandle_t A, const char* mode,
                                     diopiTensorHandle_t Q, diopiTensorHandle_t R) {
    return guarded("diopiLinalgQR", ctx, [&] {
        const Tensor input_tensor = tensor("A", A, kFactored);
        require_text("mode", mode, {"reduced", "complete", "r"});
        const Tensor q_tensor = tensor("Q", Q, kFactored);
        const Tensor r_tensor = tensor("R", R, kFactored);
        const Matrices matrices(input_tensor);
        const int64_t rows = matrices.rows;
        const int64_t columns = matrices.columns;
        const int64_t steps = std::min(rows, columns);
        const bool wants_q = std::strcmp(mode, "r") != 0;
        const int64_t inner = std::strcmp(mode, "complete") == 0 ? rows : steps;
        require_same_dtype(q_tensor, input_tensor);
        require_same_dtype(r_tensor, input_tensor);
        require_shape(q_tensor, wants_q ? matrices.shape(rows, inner) : std::vector<int64_t>{0});
        require_shape(r_tensor, matrices.shape(inner, columns));
        check_written(q_tensor, {&input_tensor, &r_tensor});
        check_written(r_tensor, {&input_tensor});
        reflect(q_tensor, r_tensor, input_tensor, wants_q);
    });
}
