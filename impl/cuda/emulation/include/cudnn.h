// The part of cuDNN that the library uses, for a host without it. Names are those of cuDNN; values and layouts of
// structures are not. It takes convolutions and pooling only where DIOPI_CUDA_EMULATION_DNN is set: else it proposes no
// algorithm and supports no pooling, and the library's own kernels do the work. Where it is `refuse`, a call gives an
// error.
#ifndef DIOPI_CUDA_EMULATION_CUDNN_H_
#define DIOPI_CUDA_EMULATION_CUDNN_H_

#include <cuda_runtime.h>

#include <cstddef>

enum cudnnStatus_t { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_BAD_PARAM = 2000, CUDNN_STATUS_NOT_SUPPORTED = 3000 };
enum cudnnDataType_t { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC };
enum cudnnConvolutionMode_t { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION };
enum cudnnMathType_t { CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH };
enum cudnnDeterminism_t { CUDNN_NON_DETERMINISTIC, CUDNN_DETERMINISTIC };
enum cudnnNanPropagation_t { CUDNN_NOT_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN };
enum cudnnPoolingMode_t {
    CUDNN_POOLING_MAX,
    CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
};
enum cudnnConvolutionFwdAlgo_t { CUDNN_CONVOLUTION_FWD_ALGO_0, CUDNN_CONVOLUTION_FWD_ALGO_1 };
enum cudnnConvolutionBwdDataAlgo_t { CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 };
enum cudnnConvolutionBwdFilterAlgo_t { CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 };

struct cudnnContext;
struct cudnnTensorStruct;
struct cudnnFilterStruct;
struct cudnnConvolutionStruct;
struct cudnnPoolingStruct;
using cudnnHandle_t = cudnnContext*;
using cudnnTensorDescriptor_t = cudnnTensorStruct*;
using cudnnFilterDescriptor_t = cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = cudnnConvolutionStruct*;
using cudnnPoolingDescriptor_t = cudnnPoolingStruct*;

template <typename Algorithm>
struct EmulatedPerformance {
    Algorithm algo;
    cudnnStatus_t status;
    size_t memory;
    cudnnDeterminism_t determinism;
};
using cudnnConvolutionFwdAlgoPerf_t = EmulatedPerformance<cudnnConvolutionFwdAlgo_t>;
using cudnnConvolutionBwdDataAlgoPerf_t = EmulatedPerformance<cudnnConvolutionBwdDataAlgo_t>;
using cudnnConvolutionBwdFilterAlgoPerf_t = EmulatedPerformance<cudnnConvolutionBwdFilterAlgo_t>;

size_t cudnnGetVersion();
const char* cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream);

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* description);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t description);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t description, cudnnDataType_t type, int rank,
                                         const int* sizes, const int* strides);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* description);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t description);
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t description, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int* sizes);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* description);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t description);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t description, int space, const int* pad,
                                              const int* stride, const int* spread, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t description, int groups);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t description, cudnnMathType_t math);

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t windows,
                                                     cudnnTensorDescriptor_t y, int requested, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t windows,
                                                          cudnnTensorDescriptor_t dx, int requested, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results);
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                            cudnnTensorDescriptor_t dy,
                                                            cudnnConvolutionDescriptor_t windows,
                                                            cudnnFilterDescriptor_t dw, int requested, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_description,
                                      const void* x, cudnnFilterDescriptor_t w_description, const void* w,
                                      cudnnConvolutionDescriptor_t windows, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_description, void* y);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_description, const void* w,
                                           cudnnTensorDescriptor_t dy_description, const void* dy,
                                           cudnnConvolutionDescriptor_t windows,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes,
                                           const void* beta, cudnnTensorDescriptor_t dx_description, void* dx);
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_description, const void* x,
                                             cudnnTensorDescriptor_t dy_description, const void* dy,
                                             cudnnConvolutionDescriptor_t windows,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes,
                                             const void* beta, cudnnFilterDescriptor_t dw_description, void* dw);

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* description);
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t description);
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t description, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int space, const int* window, const int* pad,
                                          const int* stride);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t windows, const void* alpha,
                                  cudnnTensorDescriptor_t x_description, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_description, void* y);
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t windows, const void* alpha,
                                   cudnnTensorDescriptor_t y_description, const void* y,
                                   cudnnTensorDescriptor_t dy_description, const void* dy,
                                   cudnnTensorDescriptor_t x_description, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t dx_description, void* dx);

#endif  // DIOPI_CUDA_EMULATION_CUDNN_H_
