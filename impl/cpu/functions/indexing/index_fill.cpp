// IndexFill: slices at given positions set to one value, given as a number or as a 0-d tensor.
#include <diopi/functions.h>

#include "positions.h"

using namespace diopi::cpu;

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

// target = input, then the slices at `index` become `value`. In place where both are the same.
void fill_slices(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Number& value) {
    require_same_dtype(target, input);
    require_same_shape(target, input);
    const int64_t at = dimension("dim", dim, input.rank);
    require_rank(index, 1, 1);
    const Around place = around(shape_at_least_1d(input), at);
    require_one_device({&target, &input, &index});
    require_no_overlap(target);
    require_no_overlap(target, input);
    require_disjoint(target, index);
    const Positions positions(index, place.size, Negative::kFromEnd);
    dispatch<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const T filling = value.as<T>();
        copy_unless_same(target, input);
        const Changed changed(target, target.dtype);
        T* elements = changed.as<T>();
        parallel_columns(place.outer, place.inner, positions.count(), [&](int64_t outer, int64_t begin, int64_t end) {
            for (int64_t k = 0; k < positions.count(); ++k) {
                T* slice = elements + (outer * place.size + positions[k]) * place.inner;
                std::fill(slice + begin, slice + end, filling);
            }
        });
        changed.store();
    });
}

void fill_slices(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& value) {
    require_shape(value, std::vector<int64_t>{});
    require_one_device({&target, &value});
    require_disjoint(target, value);
    dispatch<kNumber | kBool>(value.dtype, [&](auto kind) {
        const auto number = *value.elements<decltype(kind)>();
        fill_slices(target, input, dim, index, number_of(number));
    });
}

}  // namespace

DIOPI_API diopiError_t diopiIndexFillScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index,
                                            const diopiScalar_t* value) {
    return guarded("diopiIndexFillScalar", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(out_tensor, input_tensor, dim, index_tensor, scalar("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFillInpScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t input, int64_t dim,
                                               diopiConstTensorHandle_t index, const diopiScalar_t* value) {
    return guarded("diopiIndexFillInpScalar", [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(input_tensor, input_tensor, dim, index_tensor, scalar("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFill(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index,
                                      diopiConstTensorHandle_t value) {
    return guarded("diopiIndexFill", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(out_tensor, input_tensor, dim, index_tensor, tensor("value", value, kNumber | kBool));
    });
}

DIOPI_API diopiError_t diopiIndexFillInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t input, int64_t dim,
                                         diopiConstTensorHandle_t index, diopiConstTensorHandle_t value) {
    return guarded("diopiIndexFillInp", [&] {
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        fill_slices(input_tensor, input_tensor, dim, index_tensor, tensor("value", value, kNumber | kBool));
    });
}
