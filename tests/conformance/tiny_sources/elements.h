// The float32 elements of a tensor without gaps.
#ifndef TINY_ELEMENTS_H_
#define TINY_ELEMENTS_H_

#include <diopi/functions.h>

#include <cstdint>

inline float* elements(diopiConstTensorHandle_t tensor, int64_t& count) {
    const void* data = nullptr;
    diopiDtype_t dtype;
    if (diopiGetTensorDtype(tensor, &dtype) != diopiSuccess || dtype != diopi_dtype_float32) {
        return nullptr;
    }
    diopiGetTensorNumel(tensor, &count);
    diopiGetTensorDataConst(tensor, &data);
    return const_cast<float*>(static_cast<const float*>(data));
}

#endif  // TINY_ELEMENTS_H_
