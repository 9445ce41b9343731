// What padding does to infinities and NaN: nothing. A product of matrices multiplies the zeros of the padding, and zero
// times infinity is NaN; kernels that leave the padding out give a number there. Here it is always left out.
#ifndef DIOPI_CPU_SKIP_PADDING_H_
#define DIOPI_CPU_SKIP_PADDING_H_

#include "convolution/convolution_kernels.h"

namespace diopigen::cpu {

using namespace core;

// Computes again, in double and without the padding, the elements of `responses` (of `weights`) that are not finite.
// All three are row-major. For float and double.
template <typename T>
void respond_without_padding(const Convolution& convolution, const T* images, const T* weights, T* responses);
template <typename T>
void correlate_without_padding(const Convolution& convolution, const T* images, const T* responses, T* weights);

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_SKIP_PADDING_H_
