// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps) over chunks of fixed size, so that the
// result does not depend on the number of threads.
#include <diopi/functions.h>

#include <algorithm>
#include <vector>

#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

constexpr int64_t kChunk = 32768;

struct Add {
    template <typename A>
    static A identity() {
        return A(0);
    }
    template <typename A>
    static A apply(A a, A b) {
        return a + b;
    }
};

struct Multiply {
    template <typename A>
    static A identity() {
        return A(1);
    }
    template <typename A>
    static A apply(A a, A b) {
        return a * b;
    }
};

// Several running values, so that the additions do not wait for each other.
template <typename Fold, typename A, typename T>
A fold(const T* data, int64_t count) {
    constexpr int kLanes = 8;
    A lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Fold::template identity<A>());
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = Fold::apply(lanes[lane], cast<A>(data[i + lane]));
        }
    }
    for (; i < count; ++i) {
        lanes[0] = Fold::apply(lanes[0], cast<A>(data[i]));
    }
    for (int lane = 1; lane < kLanes; ++lane) {
        lanes[0] = Fold::apply(lanes[0], lanes[lane]);
    }
    return lanes[0];
}

// Folds each row; `finish` makes a result of the accumulator.
template <typename Fold, typename Finish>
void reduce(const Tensor& out, const Tensor& input, const Rows& rows, Finish&& finish) {
    const View view = permuted(input, rows.order());
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        using A = Accumulator<T>;
        const Input<T> data(view.tensor());
        const int64_t chunks = std::max<int64_t>(1, (rows.length + kChunk - 1) / kChunk);
        std::vector<A> partial(static_cast<size_t>(rows.count * chunks), Fold::template identity<A>());
        parallel_for(rows.count * chunks, row_grain(std::min(rows.length, kChunk)), [&](int64_t begin, int64_t end) {
            for (int64_t part = begin; part < end; ++part) {
                const int64_t first = part % chunks * kChunk;
                const int64_t count = std::min(kChunk, rows.length - first);
                partial[part] = fold<Fold, A>(data.data() + part / chunks * rows.length + first, count);
            }
        });
        const Output<A> result(out);
        for (int64_t row = 0; row < rows.count; ++row) {
            result[row] = finish(fold<Fold, A>(partial.data() + row * chunks, chunks));
        }
        result.store();
    });
}

Dtype accumulated(Dtype dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kInt64; }

}  // namespace

DIOPI_API diopiError_t diopiSum(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t dim) {
    return guarded("diopiSum", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        require_reduced(out_tensor, input_tensor, rows, KeepDim::kEither);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        reduce<Add>(out_tensor, input_tensor, rows, [](auto sum) { return sum; });
    });
}

DIOPI_API diopiError_t diopiMean(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t dim) {
    return guarded("diopiMean", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating | kComplex);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_same_dtype(out_tensor, input_tensor);
        require_reduced(out_tensor, input_tensor, rows, KeepDim::kEither);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const auto length = static_cast<double>(rows.length);
        reduce<Add>(out_tensor, input_tensor, rows, [length](auto sum) { return sum / decltype(sum)(length); });
    });
}

DIOPI_API diopiError_t diopiProd(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 const int64_t* dim) {
    return guarded("diopiProd", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        require_reduced(out_tensor, input_tensor, rows, KeepDim::kEither);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        reduce<Multiply>(out_tensor, input_tensor, rows, [](auto product) { return product; });
    });
}
