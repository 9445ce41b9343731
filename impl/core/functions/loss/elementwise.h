// Losses that are computed element by element, and their gradients: dtypes, reduction and grad_output.
#ifndef DIOPI_CORE_ELEMENTWISE_LOSS_H_
#define DIOPI_CORE_ELEMENTWISE_LOSS_H_

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "classes.h"
#include "diopi_core/clones.h"
#include "diopi_core/dense.h"
#include "diopi_core/threads.h"
#include "diopi_core/vector_math.h"
#include "focus.h"

namespace diopigen::core {

// What contracts leave open: results of any floating dtype and operands of any real one, since losses are computed in
// `loss_dtype`. A result may take the memory of an operand of the same shape for gradients, of none for losses.
inline void check_loss(const Tensor& out, const Tensor& input, std::initializer_list<const Tensor*> operands) {
    require_floating({&out});
    require_dtypes_of(kNumber | kBool, operands);
    require_separate({&out}, operands);
    require_separate({&out}, {&input});
}

inline void check_gradient(const Tensor& grad_input, const Tensor& grad_output, const Tensor& target,
                           std::initializer_list<const Tensor*> factors) {
    require_floating({&grad_input, &grad_output});
    require_dtypes_of(kNumber | kBool, {&target});
    require_dtypes_of(kNumber | kBool, factors);
    require_separate({&grad_input}, factors);
}

// A factor that broadcasts to the shape of `input`, element by element; 1 where it is null.
template <typename T>
class Factor {
  public:
    Factor(const Tensor& factor, const Tensor& input)
        : view_(factor.is_null() ? View(Tensor(), {}, {}) : expanded(factor, shape_of(input))),
          values_(view_.tensor()) {}
    explicit operator bool() const { return static_cast<bool>(values_); }
    double operator[](int64_t i) const { return values_ ? static_cast<double>(values_[i]) : 1.0; }

  private:
    View view_;
    Input<T> values_;
};

namespace detail {

// The sum of loss(i) over [begin, end), in running sums that do not wait for each other.
template <typename Loss>
DIOPI_CPU_CLONES double sum_losses(const Loss& loss, int64_t begin, int64_t end) {
    constexpr int kLanes = 32;
    double lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += loss(i + lane);
        }
    }
    double sum = 0;
    for (; i < end; ++i) {
        sum += loss(i);
    }
    for (const double lane : lanes) {
        sum += lane;
    }
    return sum;
}

template <typename T, typename Make>
DIOPI_CPU_CLONES void write_values(T* to, const Make& make, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<T>(make(i));
    }
}

}  // namespace detail

// Stores `loss(i)` of `count` elements, or their sum or mean. Sums are computed block by block, the same for every
// number of threads.
template <typename T, typename Loss>
void store_losses(const Tensor& out, int64_t count, diopiReduction_t reduction, Loss&& loss) {
    const Output<T> result(out);
    constexpr int64_t kBlock = 4096;
    if (reduction == ReductionNone) {
        parallel_for(count, kBlock,
                     [&](int64_t begin, int64_t end) { detail::write_values(result.data(), loss, begin, end); });
    } else {
        std::vector<double> sums(static_cast<size_t>((count + kBlock - 1) / kBlock), 0.0);
        parallel_for(static_cast<int64_t>(sums.size()), 2, [&](int64_t begin, int64_t end) {
            for (int64_t block = begin; block < end; ++block) {
                sums[block] = detail::sum_losses(loss, block * kBlock, std::min(count, (block + 1) * kBlock));
            }
        });
        double total = 0;
        for (const double sum : sums) {
            total += sum;
        }
        result[0] = static_cast<T>(reduction == ReductionMean ? total / static_cast<double>(count) : total);
    }
    result.store();
}

// Stores grad_output times `slope(i)`, divided by the number of elements for the mean, whose gradient is one
// number.
template <typename T, typename Slope>
void store_gradients(const Tensor& grad_input, const Tensor& grad_output, diopiReduction_t reduction, Slope&& slope) {
    const Output<T> result(grad_input);
    const double divisor = reduction == ReductionMean ? static_cast<double>(grad_input.numel) : 1.0;
    if (grad_output.numel == 1) {
        const Input<T> grad_out(grad_output);
        const auto gradient = static_cast<double>(grad_out[0]);
        parallel_for(grad_input.numel, 4096, [&](int64_t begin, int64_t end) {
            detail::write_values(result.data(), [&](int64_t i) { return slope(i) * gradient / divisor; }, begin, end);
        });
    } else {
        const View grad_out_view = expanded(grad_output, shape_of(grad_input));
        const Input<T> grad_out(grad_out_view.tensor());
        parallel_for(grad_input.numel, 4096, [&](int64_t begin, int64_t end) {
            detail::write_values(
                result.data(), [&](int64_t i) { return slope(i) * static_cast<double>(grad_out[i]); }, begin, end);
        });
    }
    result.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_ELEMENTWISE_LOSS_H_
