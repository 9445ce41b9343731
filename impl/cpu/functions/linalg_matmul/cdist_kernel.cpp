#include <cmath>

#include "diopi_cpu/vector_norm.h"
#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr DtypeSet kPoints = kFloat32 | kFloat64;

// The derivative of the distance by one component's difference. At distance 0 there is none: 0.
double slope(double difference, double distance, double order) {
    const double size = std::abs(difference);
    if (order == 0 || size == 0 || distance == 0) {
        return 0;
    }
    return sign(difference) * (order == 1 ? 1 : std::pow(size / distance, order - 1));
}

}  // namespace

void find_distances(const Tensor& out, const Tensor& first, const Tensor& second, double order) {
    const Matrices a(first);
    const Matrices b(second);
    dispatch_compute<kPoints>(first.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(first);
        const Input<T> right(second);
        const Output<T> result(out);
        const int64_t length = a.columns;
        dispatch_norm(order, [&](auto reducer) {
            parallel_for(a.count * a.rows, row_grain(b.rows * length), [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    const T* from = left.data() + row * length;
                    for (int64_t j = 0; j < b.rows; ++j) {
                        const T* to = right.data() + (row / a.rows * b.rows + j) * length;
                        double value = reducer.identity();
                        for (int64_t d = 0; d < length; ++d) {
                            const double difference = static_cast<double>(from[d]) - static_cast<double>(to[d]);
                            value = reducer.add(value, std::abs(difference));
                        }
                        result[row * b.rows + j] = static_cast<T>(reducer.finish(value));
                    }
                }
            });
        });
        result.store();
    });
}

void find_distance_gradient(const Tensor& result_tensor, const Tensor& gradient_tensor, const Tensor& first,
                            const Tensor& second, const Tensor& distances, double order) {
    const Matrices a(first);
    const Matrices b(second);
    dispatch_compute<kPoints>(first.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(first);
        const Input<T> right(second);
        const Input<T> gradient(gradient_tensor);
        const Input<T> distance(distances);
        const Output<T> result(result_tensor);
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
                        double derivative = 0;
                        if (std::isinf(order)) {
                            // Distances were rounded when they were stored.
                            const bool attains = static_cast<T>(std::abs(difference)) == between;
                            derivative = attains ? sign(difference) : 0;
                        } else {
                            derivative = slope(difference, static_cast<double>(between), order);
                        }
                        sum += derivative * static_cast<double>(gradient[row * b.rows + j]);
                    }
                    result[row * length + d] = static_cast<T>(sum);
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
