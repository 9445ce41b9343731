// LinalgQR by Householder reflections, with the signs of LAPACK's geqrf; in double or complex<double>.
#include "batches.h"
#include "diopi_cpu/arguments.h"
#include "kernels.h"
#include "linalg_matmul.h"

using namespace diopi::cpu;

void diopi::kernels::linalg_qr(const LinalgQRArgs& args) {
    const Matrices matrices(args.A);
    const bool wants_q = args.mode != "r";
    const int64_t inner = args.mode == "complete" ? matrices.rows : std::min(matrices.rows, matrices.columns);
    require_shape(args.Q, wants_q ? matrices.shape(matrices.rows, inner) : std::vector<int64_t>{0});
    require_shape(args.R, matrices.shape(inner, matrices.columns));
    require_apart(args.Q, {&args.A, &args.R});
    require_apart(args.R, {&args.A});
    reflect(args.Q, args.R, args.A, wants_q);
}
