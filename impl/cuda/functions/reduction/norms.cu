// Norms of vectors with their gradient, and deviations from the mean. All is summed in double.
#include "diopi_core/math.h"
#include "diopi_cuda/fast_divmod.h"
#include "diopi_cuda/reduce.h"
#include "diopi_cuda/size.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::cuda {

namespace {

enum class Kind { kPower, kEuclidean, kAbsolute, kCount, kLargest, kSmallest };

Kind kind_of(double order) {
    if (std::isinf(order)) {
        return order > 0 ? Kind::kLargest : Kind::kSmallest;
    }
    return order == 0 ? Kind::kCount : order == 1 ? Kind::kAbsolute : order == 2 ? Kind::kEuclidean : Kind::kPower;
}

// A is double or complex<double>.
template <typename A>
struct Norm : Reducer<A, double> {
    using State = double;
    static constexpr DtypeSet kTyped = std::is_same_v<A, double> ? kFloating : kComplex;
    Kind kind;
    double order;

    explicit Norm(double p) : kind(kind_of(p)), order(p) {}
    DIOPI_DEVICE State identity() const {
        return kind == Kind::kSmallest ? std::numeric_limits<double>::infinity() : 0;
    }
    DIOPI_DEVICE State add(State state, const A& x, int64_t) const {
        const double size = size_of_element(x);
        switch (kind) {
            case Kind::kPower:
                return state + power(size, order);
            case Kind::kEuclidean:
                return state + size * size;
            case Kind::kAbsolute:
                return state + size;
            case Kind::kCount:
                return state + (size != 0 ? 1 : 0);
            case Kind::kLargest:
                return maximum(state, size);
            default:
                return minimum(state, size);
        }
    }
    DIOPI_DEVICE State join(State a, State b) const {
        return kind == Kind::kLargest ? maximum(a, b) : kind == Kind::kSmallest ? minimum(a, b) : a + b;
    }
    DIOPI_DEVICE double finish(State state) const {
        return kind == Kind::kPower ? power(state, 1 / order) : kind == Kind::kEuclidean ? numeric::sqrt(state) : state;
    }
};

// The derivative of the norm by one element, not for infinite orders. A norm of 0 has none and gives 0, as do elements
// of 0 unless the norm is not finite.
template <typename A>
DIOPI_DEVICE A slope(A x, double norm, double order) {
    const double size = size_of_element(x);
    if (order == 0 || norm == 0) {
        return A(0);
    }
    if (order == 1) {
        return sgn(x);
    }
    return size == 0 ? A(0) * power(norm, 1 - order) : sgn(x) * power(size / norm, order - 1);
}

template <typename T>
DIOPI_DEVICE bool attains(T element, Real<T> norm) {
    const auto size = cast<Real<T>>(size_of_element(cast<Accumulator<T>>(element)));
    return size == norm || (isnan(size) && isnan(norm));
}

// Infinite orders: the gradient is split between the elements that attain the norm.
template <typename T>
void split_gradient(T* to, const T* from, const Real<T>* gradients, const Real<T>* norms, int64_t count,
                    int64_t length) {
    using A = Accumulator<T>;
    for_groups(count, threads_for(length), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const T* x = from + row * length;
        double sharers = 0;
        for (int64_t i = group.thread(); i < length; i += group.size()) {
            sharers += attains(x[i], norms[row]) ? 1 : 0;
        }
        sharers = group.sum(sharers);
        for (int64_t i = group.thread(); i < length; i += group.size()) {
            const A direction = sgn(cast<A>(x[i]));
            const A fraction = direction * (static_cast<double>(gradients[row]) / sharers);
            to[row * length + i] = attains(x[i], norms[row]) ? cast<T>(fraction) : T(0);
        }
    });
}

template <typename T>
void power_gradient(T* to, const T* from, const Real<T>* gradients, const Real<T>* norms, int64_t count, int64_t length,
                    double order) {
    using A = Accumulator<T>;
    const FastDivmod by_length(length);
    for_each(count * length, [=] DIOPI_KERNEL(int64_t i) {
        int64_t column = i;
        const int64_t row = by_length.split(column);
        const A rate = slope(cast<A>(from[i]), static_cast<double>(norms[row]), order);
        to[i] = cast<T>(rate * static_cast<double>(gradients[row]));
    });
}

// Some of a row: how many, their mean, and the sum of the squared distances from it.
template <typename A>
struct Spread {
    A mean;
    double count;
    double squares;
};

// The same while a thread gathers: sums of what is left of a first element, so that a large mean costs no digits.
template <typename A>
struct Gathered {
    int64_t count;
    A first;
    A sum;
    double squares;
};

template <typename A>
struct Deviation : Reducer<A, Spread<A>, Gathered<A>> {
    using State = Spread<A>;
    using Local = Gathered<A>;
    static constexpr DtypeSet kTyped = std::is_same_v<A, double> ? kFloating : kComplex;
    double divisor;

    explicit Deviation(double by) : divisor(by) {}
    DIOPI_DEVICE State identity() const { return {A(0), 0, 0}; }
    DIOPI_DEVICE Local start() const { return {0, A(0), A(0), 0}; }
    DIOPI_DEVICE Local add(Local local, const A& x, int64_t) const {
        if (local.count == 0) {
            local.first = x;
        }
        const A distance = x - local.first;
        return {local.count + 1, local.first, local.sum + distance, local.squares + square_of_size(distance)};
    }
    DIOPI_DEVICE State close(const Local& local) const {
        if (local.count == 0) {
            return identity();
        }
        const auto count = static_cast<double>(local.count);
        const A moved = local.sum / A(count);
        const double left = local.squares - count * square_of_size(moved);
        return {local.first + moved, count, left < 0 ? 0 : left};
    }
    DIOPI_DEVICE State join(const State& a, const State& b) const {
        if (a.count == 0 || b.count == 0) {
            return a.count == 0 ? b : a;
        }
        const double count = a.count + b.count;
        const A distance = b.mean - a.mean;
        const double between = square_of_size(distance) * (a.count * b.count / count);
        return {a.mean + distance * A(b.count / count), count, a.squares + b.squares + between};
    }
    DIOPI_DEVICE double finish(const State& spread) const { return numeric::sqrt(spread.squares / divisor); }
};

template <typename A>
void norms_of(const Tensor& out, const Tensor& input, const Rows& rows, double order) {
    reduce_rows<double>(out, input, rows, Norm<A>(order));
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void vector_norms(const Tensor& out, const Tensor& input, const Rows& rows, double order) {
    is_complex(input.dtype) ? cuda::norms_of<Complex128>(out, input, rows, order)
                            : cuda::norms_of<double>(out, input, rows, order);
}

void vector_norm_gradient(const Tensor& target_tensor, const Tensor& gradients_tensor, const Tensor& source_tensor,
                          const Tensor& norms_tensor, const Rows& rows, double order) {
    dispatch_compute<kFloating | kComplex>(source_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> data(source_tensor);
        const Input<Real<T>> gradients(gradients_tensor);
        const Input<Real<T>> norms(norms_tensor);
        const Output<T> result(target_tensor);
        if (std::isinf(order)) {
            cuda::split_gradient<T>(result.data(), data.data(), gradients.data(), norms.data(), rows.count,
                                    rows.length);
        } else {
            cuda::power_gradient<T>(result.data(), data.data(), gradients.data(), norms.data(), rows.count, rows.length,
                                    order);
        }
        result.store();
    });
}

void deviations(const Tensor& out_tensor, const Tensor& input_tensor, const Rows& rows, double divisor) {
    if (is_complex(input_tensor.dtype)) {
        cuda::reduce_rows<double>(out_tensor, input_tensor, rows, cuda::Deviation<Complex128>(divisor));
    } else {
        cuda::reduce_rows<double>(out_tensor, input_tensor, rows, cuda::Deviation<double>(divisor));
    }
}

}  // namespace diopigen::core
