// Convolutions as cuDNN describes them, element by element. Written from its documentation: what it shows is that calls
// say what they mean, not that cuDNN does.
#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "cudnn_calls.h"
#include "emulation/launch.h"

struct cudnnFilterStruct : Sizes {};
struct cudnnConvolutionStruct {
    int64_t pad[3];
    int64_t stride[3];
    int64_t spread[3];
    int space;
    cudnnDataType_t compute;
    int64_t groups;
    cudnnMathType_t math;
};

namespace {

using diopigen::cuda::emulation::submit;
using namespace diopigen::cuda::emulation::dnn;

// Without strides the format of a filter says how it lies.
cudnnStatus_t set_sizes(Sizes& to, cudnnDataType_t type, int rank, const int* sizes, const int* strides,
                        bool channels_last) {
    if (rank < 4 || rank > 5) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    to.type = type;
    to.rank = rank;
    to.of[0] = sizes[0];
    to.of[1] = sizes[1];
    int64_t space[3];
    set_space(space, sizes + 2, rank - 2, 1);
    std::memcpy(to.of + 2, space, sizeof space);
    for (int k = 0; k < rank; ++k) {
        if (sizes[k] <= 0) {
            return CUDNN_STATUS_BAD_PARAM;
        }
    }
    // Row by row, or with the channels last: cuDNN accepts others too, which are not used here.
    for (const bool is_last : {false, true}) {
        int64_t stride = is_last ? to.of[1] : 1;
        for (int k = 4; k >= 2; --k) {
            to.strides[k] = stride;
            stride *= to.of[k];
        }
        to.strides[1] = is_last ? 1 : stride;
        to.strides[0] = is_last ? stride : stride * to.of[1];
        bool agrees = strides == nullptr ? is_last == channels_last : true;
        for (int k = 0; agrees && strides != nullptr && k < rank; ++k) {
            agrees = strides[k] == to.strides[k < 2 ? k : k + 5 - rank];
        }
        if (agrees) {
            return CUDNN_STATUS_SUCCESS;
        }
    }
    return CUDNN_STATUS_BAD_PARAM;
}

bool is_right(const Sizes& x, const Sizes& w, const cudnnConvolutionStruct& windows, const Sizes& y) {
    bool right = x.type == y.type && w.type == y.type && x.rank == w.rank && y.rank == x.rank &&
                 windows.space == x.rank - 2 && x.of[0] == y.of[0] && y.of[1] == w.of[0] && windows.groups > 0 &&
                 x.of[1] == w.of[1] * windows.groups && w.of[0] % windows.groups == 0 &&
                 windows.compute == (x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    // One layout for all.
    right = right && !((x.is_channels_last() || w.is_channels_last() || y.is_channels_last()) &&
                       (x.is_channels_first() || w.is_channels_first() || y.is_channels_first()));
    for (int k = 0; right && k < 3; ++k) {
        const int64_t room = x.of[2 + k] + 2 * windows.pad[k] - (w.of[2 + k] - 1) * windows.spread[k] - 1;
        right = room >= 0 && room / windows.stride[k] + 1 == y.of[2 + k];
    }
    return right;
}

enum class Result { kY, kX, kW };

// One of the three is written: result = alpha product + beta result. A is what is added up in.
template <typename A, typename S>
void convolve(Result result, const Sizes& x_sizes, S* x, const Sizes& w_sizes, S* w,
              const cudnnConvolutionStruct& windows, const Sizes& y_sizes, S* y, A alpha, A beta) {
    const diopigen::cuda::emulation::Access access;
    const Sizes& sizes = result == Result::kY ? y_sizes : result == Result::kX ? x_sizes : w_sizes;
    S* target = result == Result::kY ? y : result == Result::kX ? x : w;
    std::vector<A> sums(static_cast<size_t>(sizes.volume()), A(0));
    const int64_t filters_of_group = w_sizes.of[0] / windows.groups;
    int64_t p[3];
    int64_t t[3];
    for (int64_t n = 0; n < y_sizes.of[0]; ++n) {
        for (int64_t f = 0; f < y_sizes.of[1]; ++f) {
            for (int64_t d = 0; d < w_sizes.of[1]; ++d) {
                const int64_t channel = f / filters_of_group * w_sizes.of[1] + d;
                for (p[0] = 0; p[0] < y_sizes.of[2]; ++p[0]) {
                    for (p[1] = 0; p[1] < y_sizes.of[3]; ++p[1]) {
                        for (p[2] = 0; p[2] < y_sizes.of[4]; ++p[2]) {
                            for (t[0] = 0; t[0] < w_sizes.of[2]; ++t[0]) {
                                for (t[1] = 0; t[1] < w_sizes.of[3]; ++t[1]) {
                                    for (t[2] = 0; t[2] < w_sizes.of[4]; ++t[2]) {
                                        int64_t seen[3];
                                        bool is_inside = true;
                                        for (int k = 0; k < 3; ++k) {
                                            seen[k] =
                                                p[k] * windows.stride[k] - windows.pad[k] + t[k] * windows.spread[k];
                                            is_inside = is_inside && seen[k] >= 0 && seen[k] < x_sizes.of[2 + k];
                                        }
                                        if (!is_inside) {
                                            continue;
                                        }
                                        const int64_t of_x = x_sizes.at(n, channel, seen);
                                        const int64_t of_w = w_sizes.at(f, d, t);
                                        const int64_t of_y = y_sizes.at(n, f, p);
                                        if (result == Result::kY) {
                                            sums[of_y] += static_cast<A>(x[of_x]) * static_cast<A>(w[of_w]);
                                        } else if (result == Result::kX) {
                                            sums[of_x] += static_cast<A>(y[of_y]) * static_cast<A>(w[of_w]);
                                        } else {
                                            sums[of_w] += static_cast<A>(x[of_x]) * static_cast<A>(y[of_y]);
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
        const A own = beta == A(0) ? A(0) : beta * static_cast<A>(target[i]);
        target[i] = S(alpha * sums[i] + own);
    }
}

template <typename S, typename A>
void convolve_as(Result result, const Sizes& x_sizes, const void* x, const Sizes& w_sizes, const void* w,
                 const cudnnConvolutionStruct& windows, const Sizes& y_sizes, const void* y, const void* alpha,
                 const void* beta) {
    const auto elements = [](const void* data) { return static_cast<S*>(const_cast<void*>(data)); };
    const A times = *static_cast<const A*>(alpha);
    const A beta_value = *static_cast<const A*>(beta);
    submit(stream_of_calls, [=] {
        convolve<A, S>(result, x_sizes, elements(x), w_sizes, elements(w), windows, y_sizes, elements(y), times,
                       beta_value);
    });
}

cudnnStatus_t run(Result result, const Sizes& x_sizes, const void* x, const Sizes& w_sizes, const void* w,
                  const cudnnConvolutionStruct& windows, const Sizes& y_sizes, const void* y, const void* alpha,
                  const void* beta, int algorithm, const void* workspace, size_t bytes) {
    if (algorithm == 0) {
        return CUDNN_STATUS_NOT_SUPPORTED;  // so that the next one is tried
    }
    if (is_mode("refuse") || !is_right(x_sizes, w_sizes, windows, y_sizes) || (workspace == nullptr && bytes > 0)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    with_types(y_sizes.type, [&](auto stored, auto sum) {
        convolve_as<decltype(stored), decltype(sum)>(result, x_sizes, x, w_sizes, w, windows, y_sizes, y, alpha, beta);
    });
    return CUDNN_STATUS_SUCCESS;
}

// One that changes from run to run, one that is not supported when it runs, and one that works.
template <typename Algorithm>
cudnnStatus_t propose(const Sizes& x, const Sizes& w, const cudnnConvolutionStruct& windows, const Sizes& y, int name,
                      int* found, EmulatedPerformance<Algorithm>* results) {
    *found = 0;
    note(x.is_channels_last() ? "convolution, channels last" : "convolution, channels first");
    if (!is_mode(nullptr)) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (!is_right(x, w, windows, y) || name < 3) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    results[0] = {static_cast<Algorithm>(1), CUDNN_STATUS_SUCCESS, 0, CUDNN_NON_DETERMINISTIC};
    results[1] = {static_cast<Algorithm>(0), CUDNN_STATUS_SUCCESS, 0, CUDNN_DETERMINISTIC};
    results[2] = {static_cast<Algorithm>(1), CUDNN_STATUS_SUCCESS, 512, CUDNN_DETERMINISTIC};
    *found = 3;
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace

size_t cudnnGetVersion() { return 91300; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
    return status == CUDNN_STATUS_SUCCESS     ? "success"
           : status == CUDNN_STATUS_BAD_PARAM ? "bad parameter"
                                              : "not supported";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    static char context;
    *handle = reinterpret_cast<cudnnHandle_t>(&context);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t /*handle*/, cudaStream_t stream) {
    stream_of_calls = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t /*handle*/, cudaStream_t* stream) {
    *stream = stream_of_calls;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* description) { return create(description); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t description) { return destroy(description); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t description, cudnnDataType_t type, int rank,
                                         const int* sizes, const int* strides) {
    return set_sizes(*description, type, rank, sizes, strides, false);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* description) { return create(description); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t description) { return destroy(description); }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t description, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int* sizes) {
    return set_sizes(*description, type, rank, sizes, nullptr, format == CUDNN_TENSOR_NHWC);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* description) {
    return create(description);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t description) {
    return destroy(description);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t description, int space, const int* pad,
                                              const int* stride, const int* spread, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
    if (space < 2 || space > 3 || mode != CUDNN_CROSS_CORRELATION) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    set_space(description->pad, pad, space, 0);
    set_space(description->stride, stride, space, 1);
    set_space(description->spread, spread, space, 1);
    description->space = space;
    description->compute = compute;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t description, int groups) {
    description->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t description, cudnnMathType_t math) {
    description->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t windows,
                                                     cudnnTensorDescriptor_t y, int name, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
    return propose(*x, *w, *windows, *y, name, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t /*handle*/, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t windows,
                                                          cudnnTensorDescriptor_t dx, int name, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
    return propose(*dx, *w, *windows, *dy, name, found, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t x,
                                                            cudnnTensorDescriptor_t dy,
                                                            cudnnConvolutionDescriptor_t windows,
                                                            cudnnFilterDescriptor_t dw, int name, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
    return propose(*x, *dw, *windows, *dy, name, found, results);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t /*handle*/, const void* alpha,
                                      cudnnTensorDescriptor_t x_description, const void* x,
                                      cudnnFilterDescriptor_t w_description, const void* w,
                                      cudnnConvolutionDescriptor_t windows, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_description, void* y) {
    return run(Result::kY, *x_description, x, *w_description, w, *windows, *y_description, y, alpha, beta, algorithm,
               workspace, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t /*handle*/, const void* alpha,
                                           cudnnFilterDescriptor_t w_description, const void* w,
                                           cudnnTensorDescriptor_t dy_description, const void* dy,
                                           cudnnConvolutionDescriptor_t windows,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes,
                                           const void* beta, cudnnTensorDescriptor_t dx_description, void* dx) {
    return run(Result::kX, *dx_description, dx, *w_description, w, *windows, *dy_description, dy, alpha, beta,
               algorithm, workspace, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t /*handle*/, const void* alpha,
                                             cudnnTensorDescriptor_t x_description, const void* x,
                                             cudnnTensorDescriptor_t dy_description, const void* dy,
                                             cudnnConvolutionDescriptor_t windows,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes,
                                             const void* beta, cudnnFilterDescriptor_t dw_description, void* dw) {
    return run(Result::kW, *x_description, x, *dw_description, dw, *windows, *dy_description, dy, alpha, beta,
               algorithm, workspace, bytes);
}
