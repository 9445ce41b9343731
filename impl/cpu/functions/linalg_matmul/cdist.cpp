// Cdist and its gradient, always from the differences of the components and in double; so compute_mode, which picks a
// way to the 2-norm, has nothing to pick from.
#include <diopi/functions.h>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kPoints = kFloat32 | kFloat64;

// Checks two sets of points and what is between them: one number for each pair.
void check_points(const Tensor& first, const Tensor& second, const Tensor& between) {
    const Matrices a(first);
    const Matrices b(second);
    require_same_dtype(second, first);
    require_same_dtype(between, first);
    require_shape(second, a.shape(b.rows, a.columns));
    require_shape(between, a.shape(a.rows, b.rows));
}

}  // namespace

DIOPI_API diopiError_t diopiCdist(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input1,
                                  diopiConstTensorHandle_t input2, double p, const int64_t* compute_mode) {
    return guarded("diopiCdist", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kPoints);
        const Tensor first = tensor("input1", input1, kPoints);
        const Tensor second = tensor("input2", input2, kPoints);
        require(p >= 0, "parameter 'p' is negative");
        require(compute_mode == nullptr || (*compute_mode >= 0 && *compute_mode <= 2),
                "parameter 'compute_mode' is not 0, 1 or 2");
        check_points(first, second, out_tensor);
        check_written(out_tensor, {&first, &second});
        find_distances(out_tensor, first, second, p);
    });
}

DIOPI_API diopiError_t diopiCdistBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input1,
                                          diopiConstTensorHandle_t input2, double p, diopiConstTensorHandle_t cdist) {
    return guarded("diopiCdistBackward", ctx, [&] {
        const Tensor grad_input_tensor = tensor("grad_input", grad_input, kPoints);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kPoints);
        const Tensor first = tensor("input1", input1, kPoints);
        const Tensor second = tensor("input2", input2, kPoints);
        const Tensor distances = tensor("cdist", cdist, kPoints);
        require(p >= 0, "parameter 'p' is negative");
        check_points(first, second, distances);
        require_same_dtype(grad_input_tensor, first);
        require_same_shape(grad_input_tensor, first);
        require_same_dtype(grad_output_tensor, first);
        require_same_shape(grad_output_tensor, distances);
        check_written(grad_input_tensor, {&grad_output_tensor, &first, &second, &distances});
        find_distance_gradient(grad_input_tensor, grad_output_tensor, first, second, distances, p);
    });
}
