// LinalgQR: one group for each matrix, one thread for each column that a reflection changes.
#include "diopi_cuda/launch.h"
#include "linalg_matmul/batches.h"
#include "triangles.h"

namespace diopigen::cuda {

namespace {

// Applies the reflection I - scale v v^H to rows [first, rows) of the columns from `column` on. v starts with a 1 that
// is not stored.
template <typename E>
DIOPI_DEVICE void apply(const Group& group, E scale, const E* rest, E* matrix, int64_t rows, int64_t columns,
                        int64_t first, int64_t column) {
    for (int64_t j = column + group.thread(); j < columns; j += group.size()) {
        E sum = matrix[first * columns + j];
        for (int64_t i = first + 1; i < rows; ++i) {
            sum = sum + conj(rest[i - first - 1]) * matrix[i * columns + j];
        }
        sum = scale * sum;
        matrix[first * columns + j] = matrix[first * columns + j] - sum;
        for (int64_t i = first + 1; i < rows; ++i) {
            matrix[i * columns + j] = matrix[i * columns + j] - rest[i - first - 1] * sum;
        }
    }
    group.sync();
}

struct Sizes {
    int64_t count;
    int64_t rows;
    int64_t columns;
    int64_t steps;
    int64_t inner;
};

// `left` holds the matrices and is changed; each has room for `steps` scales and vectors of `rows` in `reflections`.
// `q` may be null.
template <typename E>
void reflect(E* q, E* r, E* left, E* reflections, const Sizes& sizes) {
    const int64_t widest = sizes.columns > sizes.inner ? sizes.columns : sizes.inner;
    for_groups(sizes.count, threads_for(widest), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t rows = sizes.rows;
        const int64_t columns = sizes.columns;
        E* own = left + k * rows * columns;
        E* scales = reflections + k * sizes.steps * (rows + 1);
        for (int64_t step = 0; step < sizes.steps; ++step) {
            E* rest = scales + sizes.steps + step * rows;
            const E head = own[step * columns + step];
            double below = 0;
            for (int64_t i = step + 1 + group.thread(); i < rows; i += group.size()) {
                below = numeric::hypot(below, absolute(own[i * columns + step]));
            }
            below = group.reduce(below, [](double a, double b) { return numeric::hypot(a, b); });
            const bool is_done = below == 0 && imag(head) == 0;
            const double length = numeric::hypot(absolute(head), below);
            const double reflected = numeric::signbit(real(head)) ? length : -length;
            for (int64_t i = step + 1 + group.thread(); i < rows; i += group.size()) {
                rest[i - step - 1] = is_done ? E(0) : own[i * columns + step] / (head - E(reflected));
            }
            const E scale = is_done ? E(0) : (E(reflected) - head) / E(reflected);
            if (group.thread() == 0) {
                scales[step] = scale;
            }
            group.sync();
            apply(group, conj(scale), rest, own, rows, columns, step, step);
        }
        E* upper = r + k * sizes.inner * columns;
        for (int64_t at = group.thread(); at < sizes.inner * columns; at += group.size()) {
            upper[at] = at / columns <= at % columns ? own[at] : E(0);
        }
        if (q == nullptr) {
            return;  // for all threads of the group
        }
        E* orthonormal = q + k * rows * sizes.inner;
        for (int64_t at = group.thread(); at < rows * sizes.inner; at += group.size()) {
            orthonormal[at] = at / sizes.inner == at % sizes.inner ? E(1) : E(0);
        }
        group.sync();
        for (int64_t step = sizes.steps; step-- > 0;) {
            apply(group, scales[step], scales + sizes.steps + step * rows, orthonormal, rows, sizes.inner, step, step);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void reflect(const Tensor& q_out, const Tensor& r_out, const Tensor& input, bool needs_q) {
    const Matrices matrices(input);
    const int64_t steps = std::min(matrices.rows, matrices.columns);
    const cuda::Sizes sizes{matrices.count, matrices.rows, matrices.columns, steps, r_out.shape[r_out.rank - 2]};
    cuda::dispatch_factored(input.dtype, [&](auto sample) {
        using E = decltype(sample);
        constexpr auto kBytes = static_cast<int64_t>(sizeof(E));
        Buffer left;
        left.allocate(input.numel * kBytes);
        const View copy = dense_view(left.data(), dtype_of<E>, input, shape_of(input));
        copy_elements(copy.tensor(), input);
        Buffer reflections;
        reflections.allocate(matrices.count * steps * (matrices.rows + 1) * kBytes);
        const Output<E> q(q_out);
        const Output<E> r(r_out);
        cuda::reflect<E>(needs_q ? q.data() : nullptr, r.data(), static_cast<E*>(left.data()),
                         static_cast<E*>(reflections.data()), sizes);
        q.store();
        r.store();
    });
}

}  // namespace diopigen::core
