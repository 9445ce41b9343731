// Scatter, and gradients that add up what was looked up. Elements of one column that go to one offset do so in rising
// order, and the last of repeated positions stays: a thread takes a column where there are many. Where there are few
// but long ones, the elements are sorted by their offsets, and a thread takes those of one offset.
#include "add_slices.h"
#include "device_offsets.h"
#include "diopi_core/math.h"
#include "diopi_cuda/atomic.h"
#include "diopi_cuda/fast_divmod.h"
#include "diopi_cuda/primitives.h"

namespace diopigen::cuda {

namespace {

template <typename T>
struct Replace {
    DIOPI_DEVICE void operator()(T& to, const T& value) const { to = value; }
};
template <typename T>
struct Add {
    DIOPI_DEVICE void operator()(T& to, const T& value) const { to = to + value; }
};
template <typename T>
struct Multiply {
    DIOPI_DEVICE void operator()(T& to, const T& value) const { to = to * value; }
};

// Columns for fewer threads than a large device has, with more work for each than sorting them is.
bool are_few(const DeviceOffsets& offsets) {
    constexpr int64_t kTargetThreads = 65536;
    constexpr int64_t kLong = 64;
    return offsets.columns < kTargetThreads && offsets.sizes[offsets.at] >= kLong;
}

void find_offsets(uint64_t* keys, int64_t* order, const Int64* positions, int64_t size, const DeviceOffsets& offsets) {
    for_each(offsets.count(), [=] DIOPI_KERNEL(int64_t k) {
        keys[k] = static_cast<uint64_t>(offsets.offset(k, from_start(positions[k], size)));
        order[k] = k;
    });
}

template <typename T, typename Change>
void change_sorted(T* elements, const T* source, T number, const uint64_t* keys, const int64_t* order, int64_t count,
                   const Change& change) {
    for_each(count, [=] DIOPI_KERNEL(int64_t first) {
        const uint64_t key = keys[first];
        if (first > 0 && keys[first - 1] == key) {
            return;
        }
        for (int64_t k = first; k < count && keys[k] == key; ++k) {
            change(elements[key], source != nullptr ? source[order[k]] : number);
        }
    });
}

// `source` null: `number` for all. The target has `numel` elements.
template <typename T, typename Change>
void change_columns(T* elements, int64_t numel, const T* source, T number, const Int64* positions, int64_t size,
                    const DeviceOffsets& offsets, const Change& change) {
    if (are_few(offsets)) {
        Keyed sorted(offsets.count());
        find_offsets(sorted.keys(), sorted.indices(), positions, size, offsets);
        sorted.sort(bits_below(numel));
        change_sorted(elements, source, number, sorted.keys(), sorted.indices(), offsets.count(), change);
        return;
    }
    for_each(offsets.columns, [=] DIOPI_KERNEL(int64_t column) {
        for (int64_t k = 0; k < offsets.sizes[offsets.at]; ++k) {
            const int64_t from = offsets.element(column, k);
            const int64_t to = offsets.offset(from, from_start(positions[from], size));
            change(elements[to], source != nullptr ? source[from] : number);
        }
    });
}

template <typename T>
void change(T* elements, int64_t numel, const T* source, T number, const Positions& positions,
            const DeviceOffsets& offsets, Reduce kind) {
    const int64_t size = positions.size();
    if (kind == Reduce::kAdd) {
        change_columns(elements, numel, source, number, positions.data(), size, offsets, Add<T>());
    } else if (kind == Reduce::kMultiply) {
        change_columns(elements, numel, source, number, positions.data(), size, offsets, Multiply<T>());
    } else {
        change_columns(elements, numel, source, number, positions.data(), size, offsets, Replace<T>());
    }
}

void count_rows(int* times, const Int64* positions, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) { atomic_increment(times + positions[k].value); });
}

template <typename T>
void divide_rows(T* sums, const int* times, int64_t rows, int64_t width) {
    const FastDivmod by_width(width);
    for_each(rows * width, [=] DIOPI_KERNEL(int64_t i) {
        int64_t column = i;
        const int count = times[by_width.split(column)];
        if (count > 1) {
            sums[i] /= static_cast<T>(count);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

using cuda::DeviceOffsets;

void scatter_elements(const Tensor& target, const Tensor& source_tensor, const Positions& positions,
                      const std::vector<int64_t>& shape, int64_t at, Reduce kind) {
    const DeviceOffsets offsets(shape_at_least_1d(target), shape, at);
    if (kind == Reduce::kNone) {
        dispatch_word(target.dtype, [&](auto sample) {
            using W = decltype(sample);
            const RawInput source(source_tensor);
            const Changed changed(target, target.dtype);
            cuda::change_columns(changed.as<W>(), target.numel, source.as<W>(), W(), positions.data(), positions.size(),
                                 offsets, cuda::Replace<W>());
            changed.store();
        });
        return;
    }
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(source_tensor);
        const Changed changed(target, dtype_of<T>);
        cuda::change<T>(changed.as<T>(), target.numel, source.data(), T(0), positions, offsets, kind);
        changed.store();
    });
}

void scatter_number(const Tensor& target, const Number& value, const Positions& positions,
                    const std::vector<int64_t>& shape, int64_t at, Reduce kind) {
    const DeviceOffsets offsets(shape_at_least_1d(target), shape, at);
    dispatch_compute<kAny>(target.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Changed changed(target, dtype_of<T>);
        cuda::change<T>(changed.as<T>(), target.numel, nullptr, value.as<T>(), positions, offsets, kind);
        changed.store();
    });
}

void gather_gradient(const Tensor& result, const Tensor& gradient, const Positions& positions,
                     const std::vector<int64_t>& shape, int64_t at) {
    const DeviceOffsets offsets(shape_at_least_1d(result), shape, at);
    dispatch_compute<kNumber | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        cuda::clear(sums.data(), static_cast<size_t>(result.numel) * sizeof(T));
        cuda::change<T>(sums.data(), result.numel, source.data(), T(0), positions, offsets, Reduce::kAdd);
        sums.store();
    });
}

void add_up_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split) {
    dispatch_compute<kFloating | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        cuda::clear(sums.data(), static_cast<size_t>(result.numel) * sizeof(T));
        cuda::add_slices(sums.data(), source.data(), dtype_of<T>, positions.data(), positions.count(), split);
        sums.store();
    });
}

void add_up_rows(const Tensor& out_tensor, const Tensor& grad_tensor, const Positions& rows, int64_t padding_idx,
                 bool scale_grad_byfreq) {
    const int64_t count = out_tensor.shape[0];
    const int64_t width = out_tensor.shape[1];
    Buffer times;
    if (scale_grad_byfreq) {
        times.allocate(count * static_cast<int64_t>(sizeof(int)));
        cuda::clear(times.data(), static_cast<size_t>(count) * sizeof(int));
        cuda::count_rows(static_cast<int*>(times.data()), rows.data(), rows.count());
    }
    dispatch_compute<kFloating>(out_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(grad_tensor);
        const Output<T> sums(out_tensor);
        cuda::clear(sums.data(), static_cast<size_t>(out_tensor.numel) * sizeof(T));
        cuda::add_slices(sums.data(), source.data(), dtype_of<T>, rows.data(), rows.count(), {1, count, width},
                         padding_idx < 0 ? -1 : padding_idx);
        if (scale_grad_byfreq) {
            cuda::divide_rows<T>(sums.data(), static_cast<const int*>(times.data()), count, width);
        }
        sums.store();
    });
}

}  // namespace diopigen::core
