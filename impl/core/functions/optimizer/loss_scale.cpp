// Mixed precision: AmpUpdateScaleInp.
#include "diopi_core/kernel_checks.h"
#include "optimizer.h"
#include "optimizer_kernels.h"

using namespace diopigen::core;

void diopigen::entry::amp_update_scale_inp(const AmpUpdateScaleInpArgs& args) {
    require_separate({&args.current_scale, &args.growth_tracker}, {&args.found_inf});
    update_scale(args.current_scale, args.growth_tracker, args.found_inf, args.scale_growth_factor,
                 args.scale_backoff_factor, args.growth_interval);
}
