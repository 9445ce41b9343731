#include <cmath>

#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"

namespace diopigen::core {

namespace {

constexpr DtypeSet kFactored = kFloat32 | kFloat64 | kComplex;

// One reflection I - scale v v^H; v starts with a 1 that is not stored.
template <typename A>
struct Reflection {
    A scale;
    std::vector<A> rest;
};

// Applies the reflection, or its conjugate transpose, to rows [first, rows) of the columns from `column` on.
template <typename A>
void apply(const Reflection<A>& reflection, bool is_adjoint, A* matrix, int64_t rows, int64_t columns, int64_t first,
           int64_t column) {
    const A scale = is_adjoint ? conj(reflection.scale) : reflection.scale;
    for (int64_t j = column; j < columns; ++j) {
        A sum = matrix[first * columns + j];
        for (int64_t i = first + 1; i < rows; ++i) {
            sum = sum + conj(reflection.rest[i - first - 1]) * matrix[i * columns + j];
        }
        sum = scale * sum;
        matrix[first * columns + j] = matrix[first * columns + j] - sum;
        for (int64_t i = first + 1; i < rows; ++i) {
            matrix[i * columns + j] = matrix[i * columns + j] - reflection.rest[i - first - 1] * sum;
        }
    }
}

// The reflection that makes zeros below element (k, k).
template <typename A>
Reflection<A> reflection_of(const A* matrix, int64_t rows, int64_t columns, int64_t k) {
    const A head = matrix[k * columns + k];
    double below = 0;
    Reflection<A> found{A(0), std::vector<A>(static_cast<size_t>(rows - k - 1), A(0))};
    for (int64_t i = k + 1; i < rows; ++i) {
        below = std::hypot(below, std::abs(matrix[i * columns + k]));
    }
    if (below == 0 && imag(head) == 0) {
        return found;
    }
    const double length = std::hypot(std::abs(head), below);
    const double reflected = std::signbit(real(head)) ? length : -length;
    found.scale = (A(reflected) - head) / A(reflected);
    for (int64_t i = k + 1; i < rows; ++i) {
        found.rest[i - k - 1] = matrix[i * columns + k] / (head - A(reflected));
    }
    return found;
}

}  // namespace

void reflect(const Tensor& q_out, const Tensor& r_out, const Tensor& input, bool needs_q) {
    const Matrices matrices(input);
    const int64_t rows = matrices.rows;
    const int64_t columns = matrices.columns;
    const int64_t steps = std::min(rows, columns);
    const int64_t inner = r_out.shape[r_out.rank - 2];
    dispatch_compute<kFactored>(input.dtype, [&](auto sample) {
        using E = Accumulator<decltype(sample)>;
        const Input<E> data(input);
        const Output<E> q(q_out);
        const Output<E> r(r_out);
        parallel_for(matrices.count, row_grain(matrices.size() * steps), [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; ++k) {
                const E* from = data.data() + k * matrices.size();
                std::vector<E> left(from, from + matrices.size());
                std::vector<Reflection<E>> reflections;
                for (int64_t step = 0; step < steps; ++step) {
                    reflections.push_back(reflection_of(left.data(), rows, columns, step));
                    apply(reflections.back(), true, left.data(), rows, columns, step, step);
                }
                E* upper = r.data() + k * inner * columns;
                for (int64_t i = 0; i < inner; ++i) {
                    for (int64_t j = 0; j < columns; ++j) {
                        upper[i * columns + j] = i <= j ? left[i * columns + j] : E(0);
                    }
                }
                if (!needs_q) {
                    continue;
                }
                E* orthonormal = q.data() + k * rows * inner;
                for (int64_t i = 0; i < rows * inner; ++i) {
                    orthonormal[i] = i / inner == i % inner ? E(1) : E(0);
                }
                for (int64_t step = steps; step-- > 0;) {
                    apply(reflections[step], false, orthonormal, rows, inner, step, step);
                }
            }
        });
        q.store();
        r.store();
    });
}

}  // namespace diopigen::core
