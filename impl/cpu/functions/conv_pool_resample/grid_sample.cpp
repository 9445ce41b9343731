// GridSample: interpolation at positions that a tensor holds, zeros outside.
#include "grid_sample.h"

#include <diopi/functions.h>

#include <cstring>
#include <vector>

using namespace diopi::cpu;

namespace {

SampleMode mode_of(const char* mode) {
    require_text("mode", mode, {"bilinear", "nearest", "bicubic"});
    return std::strcmp(mode, "nearest") == 0   ? SampleMode::kNearest
           : std::strcmp(mode, "bicubic") == 0 ? SampleMode::kCubic
                                               : SampleMode::kLinear;
}

}  // namespace

DIOPI_API diopiError_t diopiGridSample(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t grid,
                                       const char* mode) {
    return guarded("diopiGridSample", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor grid_tensor = tensor("grid", grid, kFloating);
        const int64_t rank = input_tensor.rank;
        require((rank == 4 || rank == 5) && grid_tensor.rank == rank,
                "C1: parameters 'input' and 'grid' must both have 4 or both have 5 dimensions");
        const Plane plane{space_of(input_tensor, static_cast<int>(rank) - 2), mode_of(mode), rank == 5};
        require(plane.mode != SampleMode::kCubic || rank == 4,
                "C2: parameter 'input' must have 4 dimensions when mode is bicubic");
        require(volume(plane.size) > 0, "C3: parameter 'input' must have elements in all dimensions after C");
        const int64_t batch = input_tensor.shape[0];
        const int64_t channels = input_tensor.shape[1];
        std::vector<int64_t> grid_shape = shape_of(grid_tensor);
        grid_shape.front() = batch;
        grid_shape.back() = rank - 2;
        require_same_dtype(grid_tensor, input_tensor);
        require_shape(grid_tensor, grid_shape);
        std::vector<int64_t> shape{batch, channels};
        shape.insert(shape.end(), grid_shape.begin() + 1, grid_shape.end() - 1);
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_operands(out_tensor, {&input_tensor, &grid_tensor});
        if (out_tensor.numel == 0) {
            return;
        }
        sample_at(out_tensor, input_tensor, grid_tensor, plane);
    });
}
