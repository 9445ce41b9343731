// The kernels of elementwise.h by compute dtype.
#ifndef DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
#define DIOPI_CUDA_ELEMENTWISE_KERNELS_H_

#include "diopi_core/math.h"
#include "diopi_cuda/elementwise_general.h"
#include "diopi_cuda/elementwise_vectors.h"

namespace diopi::cuda {

// The kernels of `Loop` for the dtypes of `set`.
template <typename Loop, DtypeSet set>
constexpr Launches launches() {
    Launches table{};
    const auto add = [&table](auto sample) {
        using T = decltype(sample);
        if constexpr (contains(set, dtype_of<T>)) {
            table.general[static_cast<int>(dtype_of<T>)] = &detail::launch_general<Loop, T>;
            table.vectors[static_cast<int>(dtype_of<T>)] = &detail::launch_vectors<Loop, T, T>;
        }
        if constexpr (contains(set, dtype_of<T>) && std::is_same_v<T, float>) {
            table.halves[0] = &detail::launch_vectors<Loop, float, Half>;
            table.halves[1] = &detail::launch_vectors<Loop, float, Bfloat16>;
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

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
