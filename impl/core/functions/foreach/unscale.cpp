// Mixed precision: AmpForeachNonFiniteCheckAndUnscaleInp.
#include "diopi_core/kernel_checks.h"
#include "foreach.h"
#include "foreach_kernels.h"

using namespace diopigen::core;

void diopigen::entry::amp_foreach_non_finite_check_and_unscale_inp(
    const AmpForeachNonFiniteCheckAndUnscaleInpArgs& args) {
    require_separate({&args.found_inf}, {&args.inv_scale});
    for (const Tensor& gradient : args.scaled_grads) {
        require_separate({&gradient}, {&args.found_inf, &args.inv_scale});
    }
    unscale(args.scaled_grads, args.found_inf, args.inv_scale);
}
