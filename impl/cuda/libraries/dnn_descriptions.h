// What convolutions are to cuDNN: handles, descriptions of tensors, filters and windows, and its statuses.
#ifndef DIOPI_CUDA_DNN_DESCRIPTIONS_H_
#define DIOPI_CUDA_DNN_DESCRIPTIONS_H_

#include <cudnn.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "conv_pool_resample/convolution.h"
#include "diopi_cuda/runtime.h"

namespace diopi::cuda::dnn {

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
    Described() { check_dnn(create(&object), "describe a convolution"); }
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

// Whether the channels of one position are contiguous, or the positions of one channel.
enum class Layout { kChannelsFirst, kChannelsLast };

// The three tensors and the windows of a convolution, in a layout that all three have.
class Descriptions {
  public:
    Descriptions(const Convolution& convolution, Dtype dtype, Layout layout) {
        const Sliding& sliding = convolution.sliding;
        const bool is_flat = sliding.size[0] == 1 && sliding.positions[0] == 1 && sliding.window.kernel[0] == 1 &&
                             sliding.window.pad[0] == 0;
        space_ = is_flat ? 2 : 3;
        layout_ = layout;
        type_ = *type_of(dtype);
        const auto batch = static_cast<int>(convolution.batch);
        const auto filters = static_cast<int>(convolution.filters);
        set(image_, ints({batch, static_cast<int>(convolution.channels)}, sliding.size));
        set(response_, ints({batch, filters}, sliding.positions));
        const Ints taps = ints({filters, static_cast<int>(convolution.depth())}, sliding.window.kernel);
        const auto format = layout == Layout::kChannelsFirst ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
        check_dnn(cudnnSetFilterNdDescriptor(weight_.object, type_, format, static_cast<int>(taps.size()), taps.data()),
                  "describe the weight");
        const Ints pad = ints({}, sliding.window.pad);
        const Ints stride = ints({}, sliding.window.stride);
        const Ints spread = ints({}, sliding.window.spread);
        const auto compute = dtype == Dtype::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
        check_dnn(cudnnSetConvolutionNdDescriptor(windows_.object, space_, pad.data(), stride.data(), spread.data(),
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
    using Ints = std::vector<int>;
    using TensorDescription =
        Described<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

    // The last entries, as many as there are dimensions of space, behind others.
    Ints ints(Ints prefix, const Triple& sizes) const {
        for (int k = kSpace - space_; k < kSpace; ++k) {
            prefix.push_back(static_cast<int>(sizes[k]));
        }
        return prefix;
    }

    void set(const TensorDescription& description, const Ints& sizes) const {
        Ints strides(sizes.size(), 1);
        int stride = layout_ == Layout::kChannelsLast ? sizes[1] : 1;
        for (size_t k = sizes.size() - 1; k >= 2; --k) {
            strides[k] = stride;
            stride *= sizes[k];
        }
        if (layout_ == Layout::kChannelsFirst) {
            strides[1] = stride;
            stride *= sizes[1];
        }
        strides[0] = stride;
        check_dnn(cudnnSetTensorNdDescriptor(description.object, type_, static_cast<int>(sizes.size()), sizes.data(),
                                             strides.data()),
                  "describe a tensor");
    }

    int space_;
    Layout layout_;
    cudnnDataType_t type_;
    TensorDescription image_;
    TensorDescription response_;
    Described<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor> weight_;
    Described<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>
        windows_;
};

}  // namespace diopi::cuda::dnn

#endif  // DIOPI_CUDA_DNN_DESCRIPTIONS_H_
