// IndexFill: slices at listed positions set to one value, passed as a number or as a 0-d tensor. The loops.
#include "indexing/indexing_kernels.h"
#include "indexing/positions.h"

namespace diopigen::core {

namespace {

// An element as a number; int64 and float64 hold every value of the other dtypes.
template <typename V>
Number number_of(V value) {
    if constexpr (is_floating(dtype_of<V>)) {
        return Number::of(cast<double>(value));
    } else {
        return Number::of(cast<Int64>(value).value);
    }
}

}  // namespace

void fill_slices_with(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                      const Tensor& value) {
    Number number;
    dispatch<kNumber | kBool>(value.dtype, [&](auto kind) { number = number_of(*value.elements<decltype(kind)>()); });
    fill_slices_at(target, input, positions, split, number);
}

void fill_slices_at(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                    const Number& value) {
    dispatch<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const T filling = value.as<T>();
        copy_unless_same(target, input);
        const Changed changed(target, target.dtype);
        T* elements = changed.as<T>();
        parallel_columns(split.outer, split.inner, positions.count(), [&](int64_t outer, int64_t begin, int64_t end) {
            for (int64_t k = 0; k < positions.count(); ++k) {
                T* slice = elements + (outer * split.size + positions[k]) * split.inner;
                std::fill(slice + begin, slice + end, filling);
            }
        });
        changed.store();
    });
}

}  // namespace diopigen::core
