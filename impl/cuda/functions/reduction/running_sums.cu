// Sums along a dimension. Contiguous rows are summed up by groups, a stretch at a time; columns
// each by a thread, next to its neighbours. Where there are few of them they are cut into parts: first the sums of
// parts, then the sums before each, then the elements.
#include "diopi_cuda/operand.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::cuda {

namespace {

// [outer, size, inner], with the middle dimension in parts.
struct Stretches {
    int64_t size;
    int64_t inner;
    int64_t parts;
    int64_t per_part;
    bool is_forward;

    Stretches(const DimSplit& split, int64_t target_parts, bool forward)
        : size(split.size),
          inner(split.inner),
          per_part((size + target_parts - 1) / target_parts),
          is_forward(forward) {
        per_part = std::max<int64_t>(1, per_part);
        parts = std::max<int64_t>(1, (size + per_part - 1) / per_part);
    }
    // Of element i of a column, in the order of summation.
    DIOPI_DEVICE int64_t offset(int64_t outer, int64_t i, int64_t column) const {
        return (outer * size + (is_forward ? i : size - 1 - i)) * inner + column;
    }
    DIOPI_DEVICE int64_t end(int64_t part) const {
        const int64_t end = (part + 1) * per_part;
        return end < size ? end : size;
    }
};

// ---- A thread to a part of a column; sums are [outer, parts, inner]. ----

template <typename A, typename T>
void add_up_columns(A* sums, const T* from, const Stretches& rows, int64_t outer_count) {
    for_each(outer_count * rows.parts * rows.inner, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t column = k % rows.inner;
        const int64_t part = k / rows.inner % rows.parts;
        const int64_t outer = k / rows.inner / rows.parts;
        A sum(0);
        DIOPI_AHEAD
        for (int64_t i = part * rows.per_part; i < rows.end(part); ++i) {
            sum = sum + cast<A>(from[rows.offset(outer, i, column)]);
        }
        sums[k] = sum;
    });
}

template <typename A, typename T, typename R>
void run_columns(R* to, const T* from, const A* before, const Stretches& rows, int64_t outer_count) {
    for_each(outer_count * rows.parts * rows.inner, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t column = k % rows.inner;
        const int64_t part = k / rows.inner % rows.parts;
        const int64_t outer = k / rows.inner / rows.parts;
        A sum = before != nullptr ? before[k] : A(0);
        DIOPI_AHEAD
        for (int64_t i = part * rows.per_part; i < rows.end(part); ++i) {
            const int64_t at = rows.offset(outer, i, column);
            sum = sum + cast<A>(from[at]);
            to[at] = cast<R>(sum);
        }
    });
}

// ---- A group to a part of a row; sums are [outer, inner, parts]. ----

constexpr int kItems = 4;  // neighbours to a thread

template <typename A, typename T>
void add_up_rows(A* sums, const T* from, const Stretches& rows, int64_t outer_count) {
    for_groups(outer_count * rows.inner * rows.parts, threads_for(rows.per_part), 0,
               [=] DIOPI_KERNEL(Group & group, int64_t k) {
                   const int64_t row = k / rows.parts;
                   const int64_t part = k % rows.parts;
                   A sum(0);
                   DIOPI_AHEAD
                   for (int64_t i = part * rows.per_part + group.thread(); i < rows.end(part); i += group.size()) {
                       sum = sum + cast<A>(from[rows.offset(row / rows.inner, i, row % rows.inner)]);
                   }
                   sum = group.sum(sum);
                   if (group.thread() == 0) {
                       sums[k] = sum;
                   }
               });
}

template <typename A, typename T, typename R>
void run_rows(R* to, const T* from, const A* before, const Stretches& rows, int64_t outer_count) {
    const int threads = threads_for((rows.per_part + kItems - 1) / kItems);
    for_groups(outer_count * rows.inner * rows.parts, threads, 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t row = k / rows.parts;
        const int64_t part = k % rows.parts;
        const int64_t end = rows.end(part);
        const int64_t begin = rows.offset(row / rows.inner, 0, row % rows.inner);
        const int64_t stride = rows.is_forward ? rows.inner : -rows.inner;
        A done = before != nullptr ? before[k] : A(0);
        for (int64_t start = part * rows.per_part; start < end; start += group.size() * kItems) {
            const int64_t first = start + group.thread() * kItems;
            A sums[kItems];
            DIOPI_UNROLL
            for (int v = 0; v < kItems; ++v) {
                sums[v] = first + v < end ? cast<A>(from[begin + (first + v) * stride]) : A(0);
            }
            DIOPI_UNROLL
            for (int v = 1; v < kItems; ++v) {
                sums[v] = sums[v - 1] + sums[v];
            }
            A total(0);
            const A own = done + group.sum_before(sums[kItems - 1], total);
            DIOPI_UNROLL
            for (int v = 0; v < kItems; ++v) {
                if (first + v < end) {
                    to[begin + (first + v) * stride] = cast<R>(own + sums[v]);
                }
            }
            done = done + total;
        }
    });
}

// What comes before each part of a row: [outer, parts, inner], or [rows, parts] where `inner` is 1.
template <typename A>
void sum_parts(A* sums, int64_t outer_count, int64_t parts, int64_t inner) {
    for_groups(outer_count * inner, threads_for(parts), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        A* own = sums + k / inner * parts * inner + k % inner;
        A done(0);
        for (int64_t start = 0; start < parts; start += group.size()) {
            const int64_t part = start + group.thread();
            const A sum = part < parts ? own[part * inner] : A(0);
            A total(0);
            const A before = done + group.sum_before(sum, total);
            if (part < parts) {
                own[part * inner] = before;
            }
            done = done + total;
        }
    });
}

template <typename A, typename T, typename R>
void run(R* to, const T* from, const DimSplit& split, bool is_forward) {
    constexpr int64_t kTargetThreads = 65536;
    constexpr int64_t kLeastColumn = 64;  // elements of a part
    constexpr int64_t kLeastRow = 8192;
    constexpr int64_t kMostParts = 2048;
    const int64_t columns = split.outer * split.inner;
    if (columns == 0 || split.size == 0) {
        return;
    }
    const bool are_columns = split.inner >= 16;
    const int64_t target_parts = are_columns ? std::min(kTargetThreads / columns, split.size / kLeastColumn)
                                             : std::min(kMostParts / columns, split.size / kLeastRow);
    const Stretches rows(split, std::max<int64_t>(1, target_parts), is_forward);
    Buffer memory;
    A* before = nullptr;
    if (rows.parts > 1) {
        memory.allocate(columns * rows.parts * static_cast<int64_t>(sizeof(A)));
        before = static_cast<A*>(memory.data());
        if (are_columns) {
            add_up_columns(before, from, rows, split.outer);
            sum_parts(before, split.outer, rows.parts, split.inner);
        } else {
            add_up_rows(before, from, rows, split.outer);
            sum_parts(before, columns, rows.parts, 1);
        }
    }
    if (are_columns) {
        run_columns<A, T, R>(to, from, before, rows, split.outer);
    } else {
        run_rows<A, T, R>(to, from, before, rows, split.outer);
    }
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void running_sums(const Tensor& out, const Tensor& input, const DimSplit& split, bool is_forward) {
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        using A = Accumulator<T>;
        using R = std::conditional_t<dtype_of<A> == Dtype::kInt64, Int64, T>;
        const Input<T> data(input);
        const Output<R> result(out);
        cuda::run<A, T, R>(result.data(), data.data(), split, is_forward);
        result.store();
    });
}

}  // namespace diopigen::core
