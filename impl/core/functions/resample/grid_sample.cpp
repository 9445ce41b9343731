// GridSample: interpolation at positions that a tensor holds, zeros outside.
#include "grid_sample.h"

#include "resample.h"

using namespace diopigen::core;

namespace {

SampleMode mode_of(std::string_view mode) { return mode == "nearest" ? SampleMode::kNearest : SampleMode::kLinear; }

}  // namespace

void diopigen::entry::grid_sample(const GridSampleArgs& args) {
    const Tensor& input = args.input;
    require_disjoint(args.out, input);
    require_disjoint(args.out, args.grid);
    if (args.out.numel > 0) {
        const Plane plane{space_of(input, static_cast<int>(input.rank) - 2), mode_of(args.mode), input.rank == 5};
        sample_at(args.out, input, args.grid, plane);
    }
}
