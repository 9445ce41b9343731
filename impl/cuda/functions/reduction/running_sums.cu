// Sums along a dimension: each row by one group, a stretch as long as the group at a time.
#include "diopi_cuda/launch.h"
#include "reduction/kernels.h"

namespace diopi::cuda {

namespace {

template <typename A, typename T, typename R>
void sum_rows(R* to, const T* from, const Around& place, bool is_forward) {
    const int64_t size = place.size;
    const int64_t inner = place.inner;
    for_groups(place.outer * inner, threads_for(size), 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t first = k / inner * size * inner + k % inner;
        A before(0);
        for (int64_t start = 0; start < size; start += group.size()) {
            const int64_t i = start + group.thread();
            const int64_t at = first + (is_forward ? i : size - 1 - i) * inner;
            const A own = i < size ? cast<A>(from[at]) : A(0);
            A total(0);
            const A sum = before + group.sum_before(own, total) + own;
            if (i < size) {
                to[at] = cast<R>(sum);
            }
            before = before + total;
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void running_sums(const Tensor& out, const Tensor& input, const Around& place, bool is_forward) {
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        using A = Accumulator<T>;
        using R = std::conditional_t<dtype_of<A> == Dtype::kInt64, Int64, T>;
        const Input<T> data(input);
        const Output<R> result(out);
        cuda::sum_rows<A>(result.data(), data.data(), place, is_forward);
        result.store();
    });
}

}  // namespace diopi::cpu
