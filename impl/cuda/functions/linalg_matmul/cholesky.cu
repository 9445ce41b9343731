// Cholesky and its gradient: one group for each matrix.
#include <vector>

#include "diopi_cuda/launch.h"
#include "linalg_matmul/batches.h"
#include "triangles.h"

namespace diopigen::cuda {

namespace {

// Lower factors, column by column: each row of a column by one thread. `factors` is zero already.
template <typename A>
void factorize(A* factors, Int32* states, const A* matrices, int64_t count, int64_t n, bool upper) {
    for_groups(count, threads_for(n), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const A* matrix = matrices + k * n * n;
        A* factor = factors + k * n * n;
        int failure = 0;
        for (int64_t j = 0; j < n && failure == 0; ++j) {
            const A* pivot_row = factor + j * n;
            // By every thread for itself: that takes no longer than a row.
            double pivot = real(matrix[j * n + j]);
            for (int64_t m = 0; m < j; ++m) {
                pivot -= real(pivot_row[m]) * real(pivot_row[m]) + imag(pivot_row[m]) * imag(pivot_row[m]);
            }
            failure = pivot > 0 ? 0 : static_cast<int>(j + 1);
            pivot = failure == 0 ? numeric::sqrt(pivot) : 1;
            group.sync();
            for (int64_t i = j + group.thread(); i < n && failure == 0; i += group.size()) {
                if (i == j) {
                    factor[j * n + j] = A(pivot);
                    continue;
                }
                A* row = factor + i * n;
                A sum = upper ? conj(matrix[j * n + i]) : matrix[i * n + j];
                for (int64_t m = 0; m < j; ++m) {
                    sum = sum - row[m] * conj(pivot_row[m]);
                }
                row[j] = sum / pivot;
            }
            group.sync();
        }
        if (group.thread() == 0) {
            states[k] = Int32(failure);
        }
    });
}

template <typename A>
void turn(A* to, const A* factors, int64_t count, int64_t n, bool upper) {
    for_each(count * n * n, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t first = at / (n * n) * n * n;
        to[at] = upper ? conj(factors[first + at % n * n + at / n % n]) : factors[at];
    });
}

// Room for three matrices to each group.
template <typename A>
void find_gradient(A* results, const A* factors, const A* gradients, A* rooms, int64_t count, int64_t n, bool upper) {
    for_groups(count, threads_for(n * n), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t size = n * n;
        A* lower = rooms + 3 * k * size;
        A* middle = lower + size;
        A* transposed = middle + size;
        for (int64_t at = group.thread(); at < size; at += group.size()) {
            const int64_t i = at / n;
            const int64_t j = at % n;
            const A value = factors[k * size + (upper ? j * n + i : at)];
            lower[at] = i < j ? A(0) : upper ? conj(value) : value;
        }
        group.sync();
        // The lower triangle of L^H times the gradient, mirrored at its diagonal.
        for (int64_t at = group.thread(); at < size; at += group.size()) {
            const int64_t i = at / n;
            const int64_t j = at % n;
            A sum(0);
            for (int64_t m = i; m < n && j <= i; ++m) {
                const A gradient = gradients[k * size + (upper ? j * n + m : m * n + j)];
                sum = sum + conj(lower[m * n + i]) * (upper ? conj(gradient) : gradient);
            }
            if (j <= i) {
                middle[j * n + i] = conj(sum);
                middle[i * n + j] = sum;
            }
        }
        group.sync();
        // L^-H middle L^-1 / 2: two systems with L^H, the second one for the conjugate transpose.
        const DeviceTriangle<A> system{lower, n, {false, true, false}, true};
        for (int64_t j = group.thread(); j < n; j += group.size()) {
            system.solve(middle, n, j);
        }
        group.sync();
        for (int64_t at = group.thread(); at < size; at += group.size()) {
            transposed[at] = conj(middle[at % n * n + at / n]);
        }
        group.sync();
        for (int64_t j = group.thread(); j < n; j += group.size()) {
            system.solve(transposed, n, j);
        }
        group.sync();
        for (int64_t at = group.thread(); at < size; at += group.size()) {
            results[k * size + at] = conj(transposed[at % n * n + at / n]) / A(2);
        }
    });
}

void look_for_failures(const Finding& found, const Int32* failures, int64_t count, int64_t orders) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) {
        if (failures[k].value != 0) {
            found(k * orders + failures[k].value);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void factorize(const Tensor& out, const Tensor& info, const Tensor& mat, bool upper, bool is_checked) {
    const Matrices matrices(mat);
    const auto count = static_cast<size_t>(matrices.count);
    Buffer states;
    states.allocate(static_cast<int64_t>(count * sizeof(Int32)));
    auto* const failures = static_cast<Int32*>(states.data());
    cuda::dispatch_factored(mat.dtype, [&](auto sample) {
        using A = decltype(sample);
        const auto bytes = static_cast<size_t>(mat.numel) * sizeof(A);
        const Input<A> data(mat);
        Buffer memory;
        memory.allocate(static_cast<int64_t>(bytes));
        cuda::clear(memory.data(), bytes);
        auto* const factors = static_cast<A*>(memory.data());
        cuda::factorize<A>(factors, failures, data.data(), matrices.count, matrices.rows, upper);
        if (is_checked) {
            const int64_t orders = matrices.rows + 1;
            const cuda::Check check(
                [=](int64_t failure) { return indefinite_text(failure / orders, failure % orders); });
            cuda::look_for_failures(check.finding(), failures, matrices.count, orders);
            check.conclude();
        }
        const Output<A> result(out);
        cuda::turn<A>(result.data(), factors, matrices.count, matrices.rows, upper);
        result.store();
    });
    detail::store_dense(info, Dtype::kInt32, failures);
}

void factor_gradient(const Tensor& grad_mat, const Tensor& grad_output, const Tensor& factor, bool upper) {
    const Matrices matrices(factor);
    cuda::dispatch_factored(factor.dtype, [&](auto sample) {
        using A = decltype(sample);
        const Input<A> factors(factor);
        const Input<A> gradients(grad_output);
        const Output<A> result(grad_mat);
        Buffer rooms;
        rooms.allocate(3 * factor.numel * static_cast<int64_t>(sizeof(A)));
        cuda::find_gradient<A>(result.data(), factors.data(), gradients.data(), static_cast<A*>(rooms.data()),
                               matrices.count, matrices.rows, upper);
        result.store();
    });
}

}  // namespace diopigen::core
