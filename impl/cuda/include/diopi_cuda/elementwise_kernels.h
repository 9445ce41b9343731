// The kernels of elementwise.h by compute dtype.
#ifndef DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
#define DIOPI_CUDA_ELEMENTWISE_KERNELS_H_

#include "diopi_core/math.h"
#include "diopi_cuda/elementwise_general.h"
#include "diopi_cuda/elementwise_vectors.h"
#include "diopi_cuda/kernel_list.h"

namespace diopigen::cuda {

namespace detail {

// Launches for a call, and for a member of a list.
template <typename Loop>
struct Launched {
    template <typename T>
    static constexpr Launch kGeneral = &launch_general<Loop, T>;
    template <typename T, typename S>
    static constexpr Launch kVectors = &launch_vectors<Loop, T, S>;
};

template <typename Loop>
struct Appended {
    template <typename T>
    static void append_general(const ElementwiseJob& job, int64_t count) {
        job.list->append(GeneralKernel<Loop, T>(job), count);
    }
    template <typename T, typename S>
    static void append_vectors(const ElementwiseJob& job, int64_t count) {
        const VectorKernel<Loop, T, S> kernel(job);
        job.list->append(kernel, vectors_in(kernel, count));
    }
    template <typename T>
    static constexpr Launch kGeneral = &append_general<T>;
    template <typename T, typename S>
    static constexpr Launch kVectors = &append_vectors<T, S>;
};

template <typename Form, DtypeSet set>
constexpr Launches launches_of() {
    Launches table{};
    const auto add = [&table](auto sample) {
        using T = decltype(sample);
        if constexpr (contains(set, dtype_of<T>)) {
            table.general[static_cast<int>(dtype_of<T>)] = Form::template kGeneral<T>;
            table.vectors[static_cast<int>(dtype_of<T>)] = Form::template kVectors<T, T>;
        }
        if constexpr (contains(set, dtype_of<T>) && std::is_same_v<T, float>) {
            table.halves[0] = Form::template kVectors<T, Half>;
            table.halves[1] = Form::template kVectors<T, Bfloat16>;
        }
    };
    add(Bool{});
    add(Uint8{});
    add(Int8{});
    add(Int16{});
    add(Int32{});
    add(Int64{});
    add(float{});
    add(double{});
    add(Complex64{});
    add(Complex128{});
    return table;
}

}  // namespace detail

// The kernels of `Loop` for the dtypes of `set`.
template <typename Loop, DtypeSet set>
constexpr Launches launches() {
    return detail::launches_of<detail::Launched<Loop>, set>();
}

// The same for the members of a list.
template <typename Loop, DtypeSet set>
constexpr Launches list_launches() {
    return detail::launches_of<detail::Appended<Loop>, set>();
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
