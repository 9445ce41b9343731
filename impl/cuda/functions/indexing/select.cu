// What IndexSelect, Gather, Embedding and IndexFill move, and the check of positions.
#include <string>

#include "device_offsets.h"
#include "slices.h"

namespace diopigen::cuda {

namespace {

void look_outside(const Finding& found, const Int64* positions, int64_t count, int64_t least, int64_t end) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (positions[i].value < least || positions[i].value >= end) {
            found(positions[i].value);
        }
    });
}

template <typename W>
void gather(W* to, const W* from, const Int64* positions, const DeviceOffsets& offsets) {
    for_each(offsets.count(), [=] DIOPI_KERNEL(int64_t k) { to[k] = from[offsets.offset(k, positions[k].value)]; });
}

// The value is at `from` or, where that is null, `filling`.
template <typename T>
void fill_slices(T* elements, const Int64* positions, int64_t count, const DimSplit& split, const T* from, T filling) {
    const SlicePositions slices(count, split.inner);
    for_each(split.outer * count * split.inner, [=] DIOPI_KERNEL(int64_t at) {
        int64_t outer;
        int64_t k;
        int64_t i;
        slices.split(at, outer, k, i);
        elements[(outer * split.size + from_start(positions[k], split.size)) * split.inner + i] =
            from != nullptr ? *from : filling;
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void check_positions(const Tensor& index, const Input<Int64>& values, int64_t least, int64_t end) {
    const cuda::Check check([name = std::string(index.name), least, end](int64_t value) {
        return position_text(name.c_str(), value, least, end);
    });
    cuda::look_outside(check.finding(), values.data(), index.numel, least, end);
    check.conclude();
}

void require_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message) {
    const cuda::Check check(message);
    cuda::look_outside(check.finding(), index.data(), count, 0, size);
    check.conclude();
}

void pick(const Tensor& out, const Tensor& input, const Input<Int64>& positions, int64_t count, const DimSplit& split) {
    const RawInput source(input);
    const RawOutput target(out);
    const int64_t bytes = split.inner * size_of(input.dtype);
    const auto* const from = source.as<char>();
    auto* const to = target.as<char>();
    cuda::dispatch_slices(bytes, {to, from}, [&](auto sample, int64_t inner) {
        cuda::pick<decltype(sample)>(to, from, positions.data(), count, inner, split);
    });
    target.store();
}

void gather_elements(const Tensor& out_tensor, const Tensor& input_tensor, const Input<Int64>& positions,
                     const Tensor& index_tensor, int64_t at) {
    const cuda::DeviceOffsets offsets(shape_at_least_1d(input_tensor), shape_at_least_1d(index_tensor), at);
    dispatch_word(input_tensor.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(input_tensor);
        const RawOutput target(out_tensor);
        cuda::gather<W>(target.as<W>(), source.as<W>(), positions.data(), offsets);
        target.store();
    });
}

namespace {

template <typename T>
void fill_slices_as(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                    const T* from, T filling) {
    copy_unless_same(target, input);
    const Changed changed(target, target.dtype);
    cuda::fill_slices<T>(changed.as<T>(), positions.data(), positions.count(), split, from, filling);
    changed.store();
}

}  // namespace

void fill_slices_at(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                    const Number& value) {
    dispatch<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        fill_slices_as<T>(target, input, positions, split, nullptr, value.as<T>());
    });
}

void fill_slices_with(const Tensor& target, const Tensor& input, const Positions& positions, const DimSplit& split,
                      const Tensor& value) {
    dispatch<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> from(value);
        fill_slices_as<T>(target, input, positions, split, from.data(), T(0));
    });
}

}  // namespace diopigen::core
