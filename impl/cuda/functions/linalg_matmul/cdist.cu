// Distances between points, and their gradient: a thread for each pair, and for each component.
#include "diopi_cuda/launch.h"
#include "diopi_cuda/order_norm.h"
#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename T>
void find_distances(T* distances, const T* first, const T* second, int64_t pairs, int64_t rows, int64_t others,
                    int64_t length, const OrderNorm& norm) {
    for_each(pairs, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / others;
        const T* from = first + row * length;
        const T* to = second + (row / rows * others + at % others) * length;
        double value = norm.identity();
        for (int64_t d = 0; d < length; ++d) {
            const double difference = static_cast<double>(from[d]) - static_cast<double>(to[d]);
            value = norm.join(value, norm.term(absolute(difference)));
        }
        distances[at] = static_cast<T>(norm.finish(value));
    });
}

// The derivative of the distance by one component's difference. At distance 0 there is none: 0.
DIOPI_DEVICE double slope(double difference, double distance, double order) {
    const double size = absolute(difference);
    if (order == 0 || size == 0 || distance == 0) {
        return 0;
    }
    return sign(difference) * (order == 1 ? 1 : numeric::pow(size / distance, order - 1));
}

template <typename T>
struct Points {
    const T* first;
    const T* second;
    const T* distances;
    const T* gradients;
};

template <typename T>
void find_gradient(T* result, const Points<T>& inputs, int64_t count, int64_t rows, int64_t others, int64_t length,
                   double order) {
    for_each(count, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / length;
        const int64_t d = at % length;
        double sum = 0;
        for (int64_t j = 0; j < others; ++j) {
            const T between = inputs.distances[row * others + j];
            const double difference = static_cast<double>(inputs.first[at]) -
                                      static_cast<double>(inputs.second[(row / rows * others + j) * length + d]);
            double derivative = 0;
            if (isinf(order)) {
                // Distances were rounded when they were stored.
                derivative = static_cast<T>(absolute(difference)) == between ? sign(difference) : 0;
            } else {
                derivative = slope(difference, static_cast<double>(between), order);
            }
            sum += derivative * static_cast<double>(inputs.gradients[row * others + j]);
        }
        result[at] = static_cast<T>(sum);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void find_distances(const Tensor& out, const Tensor& first, const Tensor& second, double order) {
    const Matrices a(first);
    const Matrices b(second);
    dispatch_compute<kFloat32 | kFloat64>(first.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(first);
        const Input<T> right(second);
        const Output<T> result(out);
        cuda::find_distances<T>(result.data(), left.data(), right.data(), out.numel, a.rows, b.rows, a.columns,
                                {order});
        result.store();
    });
}

void find_distance_gradient(const Tensor& result_tensor, const Tensor& gradient_tensor, const Tensor& first,
                            const Tensor& second, const Tensor& distances, double order) {
    const Matrices a(first);
    const Matrices b(second);
    dispatch_compute<kFloat32 | kFloat64>(first.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(first);
        const Input<T> right(second);
        const Input<T> gradient(gradient_tensor);
        const Input<T> distance(distances);
        const Output<T> result(result_tensor);
        const cuda::Points<T> inputs{left.data(), right.data(), distance.data(), gradient.data()};
        cuda::find_gradient<T>(result.data(), inputs, result_tensor.numel, a.rows, b.rows, a.columns, order);
        result.store();
    });
}

}  // namespace diopigen::core
