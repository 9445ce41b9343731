// Sort, Argsort and Topk: elements are sorted by keys in their order, then by the rows that they are in. Few of a row
// are selected first (selection.h).
#include "diopi_core/dense.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "key_range.h"
#include "selection.h"
#include "sorting/sorting_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename T>
void make_keys(uint64_t* keys, int64_t* indices, const T* from, int64_t count, const KeyRange& range,
               uint64_t flipped) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        keys[i] = range.key_of(from[i]) ^ flipped;
        indices[i] = i;
    });
}

void make_row_keys(uint64_t* keys, const int64_t* indices, int64_t count, int64_t length) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { keys[i] = static_cast<uint64_t>(indices[i] / length); });
}

// By the keys, then by the rows that elements are in.
void sort_rows(Keyed& order, const Rows& rows, const KeyRange& range) {
    order.sort(range.bits);
    if (rows.count > 1) {
        make_row_keys(order.keys(), order.indices(), order.count(), rows.length);
        order.sort(bits_below(rows.count));
    }
}

// The first `limit` of each row, of which `order` has `stored` elements.
template <typename T>
void take(T* values, Int64* indices, const T* from, const int64_t* order, int64_t count, int64_t length, int64_t stored,
          int64_t limit) {
    for_each(count * limit, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t element = order[i / limit * stored + i % limit];
        if (values != nullptr) {
            values[i] = from[element];
        }
        indices[i] = Int64(element % length);
    });
}

// Null `values` are dropped.
template <typename T>
void sort(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows, int64_t limit,
          bool descending) {
    if (rows.count == 0 || rows.length == 0 || limit == 0) {
        return;
    }
    const Input<T> source(input);
    const Output<T> sorted(values);
    const Output<Int64> indices(indices_tensor);
    const KeyRange range(input.dtype);
    const uint64_t flipped = descending ? range.largest() : 0;
    const bool is_selection = is_selected(rows.length, limit);
    const int64_t stored = is_selection ? limit : rows.length;
    Keyed order(rows.count * stored);
    if (is_selection) {
        select_first<T>(order, source.data(), rows, range, flipped, limit);
    } else {
        make_keys<T>(order.keys(), order.indices(), source.data(), order.count(), range, flipped);
    }
    sort_rows(order, rows, range);
    take<T>(values.is_null() ? nullptr : sorted.data(), indices.data(), source.data(), order.indices(), rows.count,
            rows.length, stored, limit);
    sorted.store();
    indices.store();
}

template <typename W>
void return_slices(W* to, const W* from, const Int64* positions, const DimSplit& split, int64_t count) {
    for_each(split.outer * split.inner, [=] DIOPI_KERNEL(int64_t column) {
        const int64_t outer = column / split.inner;
        const int64_t i = column % split.inner;
        for (int64_t k = 0; k < split.size; ++k) {
            to[(outer * split.size + k) * split.inner + i] = W();
        }
        for (int64_t k = 0; k < count; ++k) {
            const int64_t at = (outer * count + k) * split.inner + i;
            to[(outer * split.size + positions[at].value) * split.inner + i] = from[at];
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void sort_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  bool descending) {
    cuda::dispatch_keyed(input.dtype, [&](auto sample) {
        cuda::sort<decltype(sample)>(values, indices_tensor, input, rows, rows.length, descending);
    });
}

void argsort_rows_of(const Tensor& indices_tensor, const Tensor& input, const Rows& rows, bool descending) {
    cuda::dispatch_keyed(input.dtype, [&](auto sample) {
        cuda::sort<decltype(sample)>(Tensor(), indices_tensor, input, rows, rows.length, descending);
    });
}

void pick_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  int64_t limit, bool largest) {
    cuda::dispatch_keyed(input.dtype, [&](auto sample) {
        cuda::sort<decltype(sample)>(values, indices_tensor, input, rows, limit, largest);
    });
}

void return_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split,
                   int64_t count) {
    dispatch_word(result.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(gradient);
        const RawOutput target(result);
        cuda::return_slices<W>(target.as<W>(), source.as<W>(), positions.data(), split, count);
        target.store();
    });
}

}  // namespace diopigen::core
