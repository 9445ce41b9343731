// Tensors of float8 as their bytes, and the format of these.
#ifndef DIOPI_CORE_FUNCTIONS_LLM_FLOAT8_H_
#define DIOPI_CORE_FUNCTIONS_LLM_FLOAT8_H_

#include <diopigen/float8.h>
#include <diopigen_kernels/serving/quantized.h>

#include "diopi_core/dtype.h"
#include "diopi_core/tensor.h"

namespace diopigen::core {

inline Float8 float8_of(const Tensor& tensor) {
    return tensor.dtype == Dtype::kFloat8E4m3fn ? Float8::kE4m3fn
           : tensor.dtype == Dtype::kFloat8E5m2 ? Float8::kE5m2
                                                : Float8::kE8m0fnu;
}

// Calls `visit` with an element of the dtype that a tensor of numbers of a layer is stored with.
template <typename Visit>
void dispatch_stored(const Tensor& tensor, Visit&& visit) {
    if (tensor.dtype == Dtype::kFloat8E4m3fn || tensor.dtype == Dtype::kFloat8E5m2) {
        kernels::serving::withFloat8(float8_of(tensor), visit);
    } else {
        dispatch<kFloat16 | kBfloat16 | kFloat32>(tensor.dtype, visit);
    }
}

inline Tensor bytes_of(Tensor tensor) {
    tensor.dtype = Dtype::kUint8;
    return tensor;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LLM_FLOAT8_H_
