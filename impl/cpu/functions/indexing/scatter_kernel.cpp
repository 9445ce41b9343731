// What Scatter and the gradient of Gather change. Elements along the dimension are taken in rising order by one thread,
// so that sums do not depend on the number of threads and the last of repeated positions stays.
#include "indexing/indexing_kernels.h"
#include "offsets.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// Changes every named element of `target` by the value that `value(position in the index)` gives.
template <typename T, typename Value>
void change(const Tensor& target, const Positions& positions, const IndexedOffsets& offsets, Reduce reduce,
            Value&& value) {
    const Changed changed(target, dtype_of<T>);
    T* elements = changed.as<T>();
    if (reduce == Reduce::kAdd) {
        offsets.for_each(positions, [&](int64_t to, int64_t from) { elements[to] = elements[to] + value(from); });
    } else if (reduce == Reduce::kMultiply) {
        offsets.for_each(positions, [&](int64_t to, int64_t from) { elements[to] = elements[to] * value(from); });
    } else {
        offsets.for_each(positions, [&](int64_t to, int64_t from) { elements[to] = value(from); });
    }
    changed.store();
}

}  // namespace

void scatter_elements(const Tensor& target, const Tensor& source_tensor, const Positions& positions,
                      const std::vector<int64_t>& shape, int64_t at, Reduce kind) {
    const IndexedOffsets offsets(shape_at_least_1d(target), shape, at);
    if (kind == Reduce::kNone) {
        dispatch_word(target.dtype, [&](auto sample) {
            using W = decltype(sample);
            const RawInput source(source_tensor);
            const Changed changed(target, target.dtype);
            offsets.for_each(positions,
                             [to = changed.as<W>(), from = source.as<W>()](int64_t a, int64_t b) { to[a] = from[b]; });
            changed.store();
        });
        return;
    }
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(source_tensor);
        change<T>(target, positions, offsets, kind, [&](int64_t i) { return source[i]; });
    });
}

void scatter_number(const Tensor& target, const Number& value, const Positions& positions,
                    const std::vector<int64_t>& shape, int64_t at, Reduce kind) {
    const IndexedOffsets offsets(shape_at_least_1d(target), shape, at);
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const T number = value.as<T>();
        change<T>(target, positions, offsets, kind, [&](int64_t) { return number; });
    });
}

void gather_gradient(const Tensor& result, const Tensor& gradient, const Positions& positions,
                     const std::vector<int64_t>& shape, int64_t at) {
    const IndexedOffsets offsets(shape_at_least_1d(result), shape, at);
    dispatch_compute<kNumber | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        std::fill_n(sums.data(), result.numel, T(0));
        offsets.for_each(positions, [&](int64_t to, int64_t from) { sums[to] = sums[to] + source[from]; });
        sums.store();
    });
}

}  // namespace diopigen::core
