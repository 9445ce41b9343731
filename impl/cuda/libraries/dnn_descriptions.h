// What convolutions and pooling are to cuDNN: handles, descriptions of tensors, filters and windows, and its statuses.
#ifndef DIOPI_CUDA_DNN_DESCRIPTIONS_H_
#define DIOPI_CUDA_DNN_DESCRIPTIONS_H_

#include <cudnn.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "convolution/convolution_kernels.h"
#include "diopi_cuda/memory_format.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda::dnn {

inline void check_dnn(cudnnStatus_t status, const char* what) {
    if (status != CUDNN_STATUS_SUCCESS) {
        fail(std::string(what) + ": " + cudnnGetErrorString(status));
    }
}

// Statuses of this kind are in a range of their own.
inline bool is_unsupported(cudnnStatus_t status) { return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000; }

// The handle of the current device, on the stream of the call, while this lives. It belongs to one thread at a time.
class Handle {
  public:
    Handle() : lock_(mutex()) {
        static std::map<int, cudnnHandle_t> handles;
        check(cudaGetDevice(&device_), "ask for the device");
        cudnnHandle_t& own = handles[device_];
        if (own == nullptr) {
            check_dnn(cudnnCreate(&own), "open cuDNN");
        }
        handle_ = own;
        check_dnn(cudnnSetStream(handle_, stream()), "set the stream of cuDNN");
    }
    operator cudnnHandle_t() const { return handle_; }  // NOLINT
    int device() const { return device_; }

  private:
    static std::mutex& mutex() {
        static std::mutex mutex;
        return mutex;
    }
    std::lock_guard<std::mutex> lock_;
    cudnnHandle_t handle_ = nullptr;
    int device_ = 0;
};

// What cuDNN makes and takes back.
template <typename Object, cudnnStatus_t (*create)(Object*), cudnnStatus_t (*destroy)(Object)>
struct Described {
    Object object = nullptr;
    Described() { check_dnn(create(&object), "create a description"); }
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;
    ~Described() { destroy(object); }
};

inline std::optional<cudnnDataType_t> type_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::kFloat16:
            return CUDNN_DATA_HALF;
        case Dtype::kBfloat16:
            return CUDNN_DATA_BFLOAT16;
        case Dtype::kFloat32:
            return CUDNN_DATA_FLOAT;
        case Dtype::kFloat64:
            return CUDNN_DATA_DOUBLE;
        default:
            return std::nullopt;
    }
}

using Ints = std::vector<int>;
using TensorDescription = Described<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

// How many dimensions of space cuDNN is told of: it has no images of fewer than two.
inline int dimensions(const Window& window, const Triple& size, const Triple& positions) {
    const bool is_flat = size[0] == 1 && positions[0] == 1 && window.kernel[0] == 1 && window.pad[0] == 0;
    return is_flat ? 2 : 3;
}

// The entries of the last `space` dimensions, behind others.
inline Ints last_of(int space, const Triple& sizes, Ints prefix = {}) {
    for (int k = kSpace - space; k < kSpace; ++k) {
        prefix.push_back(static_cast<int>(sizes[k]));
    }
    return prefix;
}

// Describes a contiguous tensor of these sizes: batch, channels, and space.
inline void describe(const TensorDescription& description, cudnnDataType_t type, MemoryFormat format,
                     const Ints& sizes) {
    const bool is_last = format == MemoryFormat::kChannelsLast;
    Ints strides(sizes.size(), 1);
    int stride = is_last ? sizes[1] : 1;
    for (size_t k = sizes.size() - 1; k >= 2; --k) {
        strides[k] = stride;
        stride *= sizes[k];
    }
    if (!is_last) {
        strides[1] = stride;
        stride *= sizes[1];
    }
    strides[0] = stride;
    check_dnn(cudnnSetTensorNdDescriptor(description.object, type, static_cast<int>(sizes.size()), sizes.data(),
                                         strides.data()),
              "describe a tensor");
}

// The three tensors and the windows of a convolution, in a layout that all three have.
class Descriptions {
  public:
    Descriptions(const Convolution& convolution, Dtype dtype, MemoryFormat format) {
        const Sliding& sliding = convolution.sliding;
        const int space = dimensions(sliding.window, sliding.size, sliding.positions);
        const cudnnDataType_t type = *type_of(dtype);
        const auto batch = static_cast<int>(convolution.batch);
        const auto filters = static_cast<int>(convolution.filters);
        describe(image_, type, format, last_of(space, sliding.size, {batch, static_cast<int>(convolution.channels)}));
        describe(response_, type, format, last_of(space, sliding.positions, {batch, filters}));
        const Ints taps = last_of(space, sliding.window.kernel, {filters, static_cast<int>(convolution.depth())});
        const auto tensor_format = format == MemoryFormat::kChannelsFirst ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
        check_dnn(
            cudnnSetFilterNdDescriptor(weight_.object, type, tensor_format, static_cast<int>(taps.size()), taps.data()),
            "describe the weight");
        const Ints pad = last_of(space, sliding.window.pad);
        const Ints stride = last_of(space, sliding.window.stride);
        const Ints spread = last_of(space, sliding.window.spread);
        const auto compute = dtype == Dtype::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
        check_dnn(cudnnSetConvolutionNdDescriptor(windows_.object, space, pad.data(), stride.data(), spread.data(),
                                                  CUDNN_CROSS_CORRELATION, compute),
                  "describe windows");
        check_dnn(cudnnSetConvolutionGroupCount(windows_.object, static_cast<int>(convolution.groups)),
                  "set the groups");
        // Floats are not rounded to TF32 on the way.
        const cudnnMathType_t math = is_half(dtype) ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
        check_dnn(cudnnSetConvolutionMathType(windows_.object, math), "set the kind of arithmetic");
    }

    cudnnTensorDescriptor_t image() const { return image_.object; }
    cudnnTensorDescriptor_t response() const { return response_.object; }
    cudnnFilterDescriptor_t weight() const { return weight_.object; }
    cudnnConvolutionDescriptor_t windows() const { return windows_.object; }

  private:
    TensorDescription image_;
    TensorDescription response_;
    Described<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor> weight_;
    Described<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>
        windows_;
};

}  // namespace diopigen::cuda::dnn

#endif  // DIOPI_CUDA_DNN_DESCRIPTIONS_H_
