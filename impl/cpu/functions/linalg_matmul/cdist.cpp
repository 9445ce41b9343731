// Cdist and its gradient, always from the differences of the components and in double; so compute_mode, which picks a
// way to the 2-norm, has nothing to pick from.
#include <diopi/functions.h>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kPoints = kFloat32 | kFloat64;

// Two sets of points, their batches broadcast to each other's.
class Points {
  public:
    Points(const Tensor& first, const Tensor& second)
        : batch_(batch_of(first, second)), first_(spread(first)), second_(spread(second)) {
        require_same_dtype(second, first);
        require_shape(second_.tensor(), shape(second.shape[second.rank - 2], first.shape[first.rank - 1]));
    }
    const Tensor& first() const { return first_.tensor(); }
    const Tensor& second() const { return second_.tensor(); }
    // A shape with the batch in front.
    std::vector<int64_t> shape(int64_t rows, int64_t columns) const {
        std::vector<int64_t> found = batch_;
        found.push_back(rows);
        found.push_back(columns);
        return found;
    }
    // What is between the sets has one number for each pair.
    void check_between(const Tensor& between) const {
        require_same_dtype(between, first());
        require_shape(between, shape(first().shape[first().rank - 2], second().shape[second().rank - 2]));
    }

  private:
    static std::vector<int64_t> batch_of(const Tensor& first, const Tensor& second) {
        Tensor batches[] = {first, second};
        for (Tensor& batch : batches) {
            require_rank(batch, 2);
            batch.rank -= 2;
        }
        return broadcast_shape(batches[0], batches[1]);
    }
    View spread(const Tensor& points) const {
        return expanded(points, shape(points.shape[points.rank - 2], points.shape[points.rank - 1]));
    }

    std::vector<int64_t> batch_;
    View first_;
    View second_;
};

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
        const Points points(first, second);
        points.check_between(out_tensor);
        check_written(out_tensor, {&first, &second});
        find_distances(out_tensor, points.first(), points.second(), p);
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
        const Points points(first, second);
        points.check_between(distances);
        points.check_between(grad_output_tensor);
        require_same_dtype(grad_input_tensor, first);
        require_same_shape(grad_input_tensor, points.first());
        check_written(grad_input_tensor, {&grad_output_tensor, &first, &second, &distances});
        find_distance_gradient(grad_input_tensor, grad_output_tensor, points.first(), points.second(), distances, p);
    });
}
