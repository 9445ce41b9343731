// LinalgQR by Householder reflections, with the signs of LAPACK's geqrf; in double or complex<double>.
#include "batches.h"
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"
#include "linalg_matmul_kernels.h"

using namespace diopigen::core;

void diopigen::entry::linalg_qr(const LinalgQRArgs& args) {
    const bool needs_q = args.mode != "r";
    require_apart(args.Q, {&args.A, &args.R});
    require_apart(args.R, {&args.A});
    reflect(args.Q, args.R, args.A, needs_q);
}
