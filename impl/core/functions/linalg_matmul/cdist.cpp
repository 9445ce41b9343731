// Cdist and its gradient, always from the differences of the components and in double; so compute_mode, which picks a
// way to the 2-norm, has nothing to pick from.
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"
#include "linalg_matmul_kernels.h"

using namespace diopigen::core;

namespace {

// Two sets of points, their batches broadcast to each other's.
class Points {
  public:
    Points(const Tensor& first, const Tensor& second)
        : batch_(batch_of(first, second)), first_(spread(first)), second_(spread(second)) {}
    const Tensor& first() const { return first_.tensor(); }
    const Tensor& second() const { return second_.tensor(); }
    // A shape with the batch first.
    std::vector<int64_t> shape(int64_t rows, int64_t columns) const {
        std::vector<int64_t> found = batch_;
        found.push_back(rows);
        found.push_back(columns);
        return found;
    }
    // What is between the sets has one number for each pair.
    void check_between(const Tensor& between) const {
        require_shape(between, shape(first().shape[first().rank - 2], second().shape[second().rank - 2]));
    }

  private:
    static std::vector<int64_t> batch_of(const Tensor& first, const Tensor& second) {
        Tensor batches[] = {first, second};
        for (Tensor& batch : batches) {
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

void diopigen::entry::cdist(const CdistArgs& args) {
    const Points points(args.input1, args.input2);
    points.check_between(args.out);
    require_apart(args.out, {&args.input1, &args.input2});
    find_distances(args.out, points.first(), points.second(), args.p);
}

void diopigen::entry::cdist_backward(const CdistBackwardArgs& args) {
    const Points points(args.input1, args.input2);
    points.check_between(args.cdist);
    points.check_between(args.grad_output);
    require_same_shape(args.grad_input, points.first());
    require_apart(args.grad_input, {&args.grad_output, &args.input1, &args.input2, &args.cdist});
    find_distance_gradient(args.grad_input, args.grad_output, points.first(), points.second(), args.cdist, args.p);
}
