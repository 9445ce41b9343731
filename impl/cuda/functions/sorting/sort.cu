// Sort, Argsort and Topk by merging: runs of one element become runs of two, of four, and so on. In each pass a thread
// finds the place of one element: its number in its own run, and by bisection how many elements of the other run come
// before it. The order of equals is kept.
#include "diopi_cpu/dense.h"
#include "diopi_cpu/math.h"
#include "diopi_cuda/launch.h"
#include "sorting/kernels.h"

namespace diopi::cuda {

namespace {

// Whether `a` comes before `b`, not counting equals; NaN is above all numbers.
template <typename T>
DIOPI_DEVICE bool precedes(T a, T b, bool descending) {
    const T high = descending ? a : b;
    const T low = descending ? b : a;
    return high > low || (isnan(high) && !isnan(low));
}

template <typename T>
struct Ranked {
    T* values;
    int64_t* places;
};

template <typename T>
void number(const Ranked<T>& to, const T* from, int64_t count, int64_t length) {
    for_each(count * length, [=] DIOPI_KERNEL(int64_t i) {
        to.values[i] = from[i];
        to.places[i] = i % length;
    });
}

// Runs of `width` elements become runs of twice as many.
template <typename T>
void merge(const Ranked<T>& to, const Ranked<T>& from, int64_t count, int64_t length, int64_t width, bool descending) {
    for_each(count * length, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / length * length;
        const int64_t i = at - row;
        const int64_t start = i / (2 * width) * (2 * width);
        const int64_t middle = start + width < length ? start + width : length;
        const int64_t end = start + 2 * width < length ? start + 2 * width : length;
        const bool is_left = i < middle;
        const T own = from.values[at];
        // The elements of the other run that come before this one: of equals, those of the left run do.
        int64_t first = is_left ? middle : start;
        int64_t left = is_left ? end - middle : middle - start;
        const int64_t begin = first;
        while (left > 0) {
            const int64_t half = left / 2;
            const T other = from.values[row + first + half];
            const bool is_before = is_left ? precedes(other, own, descending) : !precedes(own, other, descending);
            first = is_before ? first + half + 1 : first;
            left = is_before ? left - half - 1 : half;
        }
        const int64_t target = row + start + (is_left ? i - start : i - middle) + (first - begin);
        to.values[target] = own;
        to.places[target] = from.places[at];
    });
}

// The first `wanted` of each row.
template <typename T>
void take(T* values, Int64* places, const Ranked<T>& from, int64_t count, int64_t length, int64_t wanted) {
    for_each(count * wanted, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t at = i / wanted * length + i % wanted;
        if (values != nullptr) {
            values[i] = from.values[at];
        }
        places[i] = Int64(from.places[at]);
    });
}

template <typename T>
class Room {
  public:
    explicit Room(int64_t count) {
        values_.allocate(count * static_cast<int64_t>(sizeof(T)));
        places_.allocate(count * static_cast<int64_t>(sizeof(int64_t)));
    }
    Ranked<T> ranked() const { return {static_cast<T*>(values_.data()), static_cast<int64_t*>(places_.data())}; }

  private:
    Buffer values_;
    Buffer places_;
};

// Null `values` are dropped.
template <typename T>
void sort(const Tensor& values, const Tensor& places_tensor, const Tensor& input, const Rows& rows, int64_t wanted,
          bool descending) {
    if (rows.count == 0 || rows.length == 0 || wanted == 0) {
        return;
    }
    const Input<T> source(input);
    const Output<T> sorted(values);
    const Output<Int64> places(places_tensor);
    const Room<T> first(rows.count * rows.length);
    const Room<T> second(rows.count * rows.length);
    Ranked<T> from = first.ranked();
    Ranked<T> to = second.ranked();
    number<T>(from, source.data(), rows.count, rows.length);
    for (int64_t width = 1; width < rows.length; width *= 2) {
        merge<T>(to, from, rows.count, rows.length, width, descending);
        std::swap(from, to);
    }
    take<T>(values.is_null() ? nullptr : sorted.data(), places.data(), from, rows.count, rows.length, wanted);
    sorted.store();
    places.store();
}

// Every integer is an int64 on the way, every half a float.
void sort(const Tensor& values, const Tensor& places, const Tensor& input, const Rows& rows, int64_t wanted,
          bool descending) {
    const Dtype dtype = compute_of(input.dtype);
    if (dtype == Dtype::kFloat32) {
        sort<float>(values, places, input, rows, wanted, descending);
    } else if (dtype == Dtype::kFloat64) {
        sort<double>(values, places, input, rows, wanted, descending);
    } else {
        sort<Int64>(values, places, input, rows, wanted, descending);
    }
}

template <typename W>
void return_slices(W* to, const W* from, const Int64* positions, const Around& place, int64_t count) {
    for_each(place.outer * place.inner, [=] DIOPI_KERNEL(int64_t column) {
        const int64_t outer = column / place.inner;
        const int64_t i = column % place.inner;
        for (int64_t k = 0; k < place.size; ++k) {
            to[(outer * place.size + k) * place.inner + i] = W();
        }
        for (int64_t k = 0; k < count; ++k) {
            const int64_t at = (outer * count + k) * place.inner + i;
            to[(outer * place.size + positions[at].value) * place.inner + i] = from[at];
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void sort_rows_of(const Tensor& values, const Tensor& places_tensor, const Tensor& input, const Rows& rows,
                  bool descending) {
    cuda::sort(values, places_tensor, input, rows, rows.length, descending);
}

void argsort_rows_of(const Tensor& places_tensor, const Tensor& input, const Rows& rows, bool descending) {
    cuda::sort(Tensor(), places_tensor, input, rows, rows.length, descending);
}

void pick_rows_of(const Tensor& values, const Tensor& places_tensor, const Tensor& input, const Rows& rows,
                  int64_t wanted, bool largest) {
    cuda::sort(values, places_tensor, input, rows, wanted, largest);
}

void return_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const Around& place,
                   int64_t count) {
    dispatch_word(result.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(gradient);
        const NewWords target(result);
        cuda::return_slices<W>(target.as<W>(), source.as<W>(), positions.data(), place, count);
        target.store();
    });
}

}  // namespace diopi::cpu
