// Softmax, its logarithm and their gradients: each row by one group, with sums in double.
#include "activation/kernels.h"
#include "diopi_cpu/math.h"
#include "diopi_cuda/launch.h"

namespace diopi::cuda {

namespace {

// Element i of row k of three dimensions lies at first(k) + i * inner.
struct RowsOf {
    int64_t count;
    int64_t size;
    int64_t inner;

    explicit RowsOf(const Around& place) : count(place.outer * place.inner), size(place.size), inner(place.inner) {}
    DIOPI_DEVICE int64_t first(int64_t k) const { return k / inner * size * inner + k % inner; }
};

template <typename T>
void forward(const RowsOf& rows, T* to, const T* from, bool is_log) {
    for_groups(rows.count, threads_for(rows.size), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const T* x = from + rows.first(k);
        T* y = to + rows.first(k);
        T top = lowest<T>();
        for (int64_t i = group.thread(); i < rows.size; i += group.size()) {
            top = maximum(top, x[i * rows.inner]);
        }
        top = group.reduce(top, [](T a, T b) { return maximum(a, b); });
        double sum = 0;
        for (int64_t i = group.thread(); i < rows.size; i += group.size()) {
            sum += static_cast<double>(exp(x[i * rows.inner] - top));
        }
        sum = group.sum(sum);
        const double shift = static_cast<double>(top) + numeric::log(sum);
        for (int64_t i = group.thread(); i < rows.size; i += group.size()) {
            const T value = x[i * rows.inner];
            y[i * rows.inner] = static_cast<T>(is_log ? static_cast<double>(value) - shift
                                                      : static_cast<double>(exp(value - top)) / sum);
        }
    });
}

// `from` is the incoming gradient, `made` what the operator gave.
template <typename T>
void backward(const RowsOf& rows, T* to, const T* from, const T* made, bool is_log) {
    for_groups(rows.count, threads_for(rows.size), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t first = rows.first(k);
        double sum = 0;
        for (int64_t i = group.thread(); i < rows.size; i += group.size()) {
            const int64_t at = first + i * rows.inner;
            const auto own = static_cast<double>(from[at]);
            sum += is_log ? own : own * static_cast<double>(made[at]);
        }
        sum = group.sum(sum);
        for (int64_t i = group.thread(); i < rows.size; i += group.size()) {
            const int64_t at = first + i * rows.inner;
            const auto own = static_cast<double>(from[at]);
            const T y = made[at];
            to[at] =
                static_cast<T>(is_log ? own - static_cast<double>(exp(y)) * sum : (own - sum) * static_cast<double>(y));
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void softmax(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second, const Around& place) {
    const bool is_log = kind == SoftmaxKind::kLogSoftmax || kind == SoftmaxKind::kLogSoftmaxGradient;
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> a(first);
        const Output<T> result(out);
        if (is_gradient(kind)) {
            const Input<T> b(second);
            cuda::backward<T>(cuda::RowsOf(place), result.data(), a.data(), b.data(), is_log);
        } else {
            cuda::forward<T>(cuda::RowsOf(place), result.data(), a.data(), is_log);
        }
        result.store();
    });
}

}  // namespace diopi::cpu
