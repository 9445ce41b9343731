// Convolutions by oneDNN. Every function returns false where it did nothing: without oneDNN, for a dtype that oneDNN
// does not compute in, for geometries that it does not have, where it would be slower than own loops, and where a
// result is not finite: then the output holds nothing of use, and own loops give the same on every processor.
#ifndef DIOPI_CPU_ONEDNN_CONVOLUTION_H_
#define DIOPI_CPU_ONEDNN_CONVOLUTION_H_

#include "convolution/convolution_kernels.h"

namespace diopigen::cpu::onednn {

using namespace core;

// As the functions of the same names in convolution.h. `bias` may be null.
bool respond(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
             const Convolution& convolution);
bool respond_transposed(const Tensor& image, const Tensor& response, const Tensor& weight,
                        const Convolution& convolution);
bool correlate(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Convolution& convolution);

}  // namespace diopigen::cpu::onednn

#endif  // DIOPI_CPU_ONEDNN_CONVOLUTION_H_
