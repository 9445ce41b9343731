// Cdist and its gradient, always from the differences of the components and in double; so compute_mode, which picks a
// way to the 2-norm, has nothing to pick from.
#include <diopi/functions.h>

#include <cmath>

#include "batches.h"
#include "diopi_cpu/vector_norm.h"

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

// The derivative of the distance by one component's difference. At distance 0 there is none: 0.
double slope(double difference, double distance, double order) {
    const double size = std::abs(difference);
    if (order == 0 || size == 0 || distance == 0) {
        return 0;
    }
    return sign(difference) * (order == 1 ? 1 : std::pow(size / distance, order - 1));
}

}  // namespace

DIOPI_API diopiError_t diopiCdist(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input1, diopiConstTensorHandle_t input2, double p,
                                  const int64_t* compute_mode) {
    return guarded("diopiCdist", [&] {
        const Tensor out_tensor = tensor("out", out, kPoints);
        const Tensor first = tensor("input1", input1, kPoints);
        const Tensor second = tensor("input2", input2, kPoints);
        require(p >= 0, "parameter 'p' is negative");
        require(compute_mode == nullptr || (*compute_mode >= 0 && *compute_mode <= 2),
                "parameter 'compute_mode' is not 0, 1 or 2");
        check_points(first, second, out_tensor);
        check_written(out_tensor, {&first, &second});
        const Matrices a(first);
        const Matrices b(second);
        dispatch_compute<kPoints>(first.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> left(first);
            const Input<T> right(second);
            const Output<T> result(out_tensor);
            const int64_t length = a.columns;
            dispatch_norm(p, [&](auto fold) {
                parallel_for(a.count * a.rows, row_grain(b.rows * length), [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                        const T* from = left.data() + row * length;
                        for (int64_t j = 0; j < b.rows; ++j) {
                            const T* to = right.data() + (row / a.rows * b.rows + j) * length;
                            double value = fold.identity();
                            for (int64_t d = 0; d < length; ++d) {
                                const double difference = static_cast<double>(from[d]) - static_cast<double>(to[d]);
                                value = fold.add(value, std::abs(difference));
                            }
                            result[row * b.rows + j] = static_cast<T>(fold.finish(value));
                        }
                    }
                });
            });
            result.store();
        });
    });
}

DIOPI_API diopiError_t diopiCdistBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input1,
                                          diopiConstTensorHandle_t input2, double p, diopiConstTensorHandle_t cdist) {
    return guarded("diopiCdistBackward", [&] {
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
        const Matrices a(first);
        const Matrices b(second);
        dispatch_compute<kPoints>(first.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> left(first);
            const Input<T> right(second);
            const Input<T> gradient(grad_output_tensor);
            const Input<T> distance(distances);
            const Output<T> result(grad_input_tensor);
            const int64_t length = a.columns;
            parallel_for(a.count * a.rows, row_grain(b.rows * length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    for (int64_t d = 0; d < length; ++d) {
                        const T from = left[row * length + d];
                        double sum = 0;
                        for (int64_t j = 0; j < b.rows; ++j) {
                            const T to = right[(row / a.rows * b.rows + j) * length + d];
                            const T between = distance[row * b.rows + j];
                            const double difference = static_cast<double>(from) - static_cast<double>(to);
                            double share = 0;
                            if (std::isinf(p)) {
                                // Distances were rounded when they were stored.
                                const bool attains = static_cast<T>(std::abs(difference)) == between;
                                share = attains ? sign(difference) : 0;
                            } else {
                                share = slope(difference, static_cast<double>(between), p);
                            }
                            sum += share * static_cast<double>(gradient[row * b.rows + j]);
                        }
                        result[row * length + d] = static_cast<T>(sum);
                    }
                }
            });
            result.store();
        });
    });
}
