// Convolutions and pooling by cuDNN. A library that was built without it has own kernels alone (docs/cuda.md).
#ifndef DIOPI_CUDA_DNN_H_
#define DIOPI_CUDA_DNN_H_

#include "convolution/convolution_kernels.h"
#include "diopi_cuda/memory_format.h"
#include "diopi_cuda/runtime.h"
#include "pooling/pooling_kernels.h"

namespace diopigen::cuda {

// The product whose result is the response, the image or the gradient of the weight.
enum class ConvolutionProduct { kForward, kBackwardData, kBackwardFilter };

// What `respond`, `respond_transposed` and `correlate` promise; the result is one of the three tensors. `bias` may be
// null, and is for a gradient of the weight. False where nothing was done: cuDNN is not there, or the convolution is
// not its.
bool convolve_by_dnn(ConvolutionProduct product, const Tensor& image, const Tensor& response, const Tensor& weight,
                     const Tensor& bias, const Convolution& convolution);

// The tensor that is written: the means, or the gradient of the image.
enum class PoolingResult { kPooled, kImage };

// What `avg_pool` and `avg_pool_backward` promise; both tensors are read and written in the order of a format. False
// where nothing was done, as above.
bool average_by_dnn(PoolingResult result, const Tensor& image, const Tensor& pooled, const Pooling& pooling,
                    const Divisor& divisor, MemoryFormat format);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_DNN_H_
