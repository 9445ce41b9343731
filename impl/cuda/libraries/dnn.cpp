// Convolutions are cuDNN's forward product, and its gradients of images and of weights. Algorithms whose results change
// from run to run are left out.
#include "diopi_cuda/dnn.h"

#include <cudnn.h>

#include <climits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "diopi_cpu/words.h"
#include "linalg_matmul/batches.h"

namespace diopi::cuda {

namespace {

constexpr size_t kMostWorkspace = size_t{256} << 20;

void check_dnn(cudnnStatus_t status, const char* what) {
    if (status != CUDNN_STATUS_SUCCESS) {
        fail(std::string(what) + ": " + cudnnGetErrorString(status));
    }
}

// Statuses of this kind are in a range of their own.
bool is_unsupported(cudnnStatus_t status) { return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000; }

// The handle of the current device, on the stream of the call, while this lives. It belongs to one thread at a time.
class Handle {
  public:
    Handle() : lock_(mutex()) {
        static std::map<int, cudnnHandle_t> handles;
        int device = 0;
        check(cudaGetDevice(&device), "ask for the device");
        cudnnHandle_t& own = handles[device];
        if (own == nullptr) {
            check_dnn(cudnnCreate(&own), "open cuDNN");
        }
        handle_ = own;
        check_dnn(cudnnSetStream(handle_, stream()), "set the stream of cuDNN");
    }
    operator cudnnHandle_t() const { return handle_; }  // NOLINT

  private:
    static std::mutex& mutex() {
        static std::mutex mutex;
        return mutex;
    }
    std::lock_guard<std::mutex> lock_;
    cudnnHandle_t handle_ = nullptr;
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
using TensorDescription = Described<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescription = Described<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using WindowDescription =
    Described<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

std::optional<cudnnDataType_t> type_of(Dtype dtype) {
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

// The last `space` entries, behind others.
Ints ints(Ints front, const Triple& sizes, int space) {
    for (int k = kSpace - space; k < kSpace; ++k) {
        front.push_back(static_cast<int>(sizes[k]));
    }
    return front;
}

void describe(const TensorDescription& description, cudnnDataType_t type, const Ints& sizes) {
    Ints steps(sizes.size(), 1);
    for (size_t k = sizes.size() - 1; k-- > 0;) {
        steps[k] = steps[k + 1] * sizes[k + 1];
    }
    check_dnn(cudnnSetTensorNdDescriptor(description.object, type, static_cast<int>(sizes.size()), sizes.data(),
                                         steps.data()),
              "describe a tensor");
}

// Whether the numbers fit into cuDNN's, and windows are counted as it counts them.
bool fits(const Tensor& image, const Tensor& response, const Tensor& weight, const Convolution& convolution) {
    bool fits = true;
    for (const Tensor* tensor : {&image, &response, &weight}) {
        fits = fits && tensor->dtype == image.dtype && tensor->numel > 0 && tensor->numel <= INT_MAX;
    }
    const Sliding& sliding = convolution.sliding;
    for (int k = 0; fits && k < kSpace; ++k) {
        fits = sliding.window.count(k, sliding.size[k]) == sliding.positions[k] && sliding.window.pad[k] <= INT_MAX &&
               sliding.window.step[k] <= INT_MAX && sliding.window.spread[k] <= INT_MAX;
    }
    return fits;
}

// Tries what cuDNN's heuristic proposes until one runs. `propose(handle, count, found, results)`, `run(handle,
// algorithm, workspace, bytes)`.
template <typename Result, typename Propose, typename Run>
bool run_first(const Propose& propose, const Run& run) {
    constexpr int kMost = 8;
    const Handle handle;
    Result results[kMost];
    int found = 0;
    const cudnnStatus_t proposed = propose(handle, kMost, &found, results);
    if (is_unsupported(proposed)) {
        return false;
    }
    check_dnn(proposed, "choose an algorithm");
    for (int k = 0; k < found; ++k) {
        if (results[k].status != CUDNN_STATUS_SUCCESS || results[k].determinism != CUDNN_DETERMINISTIC ||
            results[k].memory > kMostWorkspace) {
            continue;
        }
        Buffer workspace;
        workspace.allocate(static_cast<int64_t>(results[k].memory));
        const cudnnStatus_t status = run(handle, results[k].algo, workspace.data(), results[k].memory);
        if (!is_unsupported(status)) {
            check_dnn(status, "convolve");
            return true;
        }
    }
    return false;
}

}  // namespace

bool convolve_by_dnn(ConvolutionProduct product, const Tensor& image, const Tensor& response, const Tensor& weight,
                     const Tensor& bias, const Convolution& convolution) {
    const std::optional<cudnnDataType_t> type = type_of(image.dtype);
    if (!type || !fits(image, response, weight, convolution) || (!bias.is_null() && bias.dtype != image.dtype)) {
        return false;
    }
    const bool is_double = image.dtype == Dtype::kFloat64;
    const Sliding& sliding = convolution.sliding;
    const bool is_flat = sliding.size[0] == 1 && sliding.positions[0] == 1 && sliding.window.kernel[0] == 1 &&
                         sliding.window.pad[0] == 0;
    const int space = is_flat ? 2 : 3;
    const auto batch = static_cast<int>(convolution.batch);
    const auto channels = static_cast<int>(convolution.channels);
    const auto filters = static_cast<int>(convolution.filters);

    TensorDescription of_image;
    TensorDescription of_response;
    FilterDescription of_weight;
    WindowDescription of_windows;
    describe(of_image, *type, ints({batch, channels}, sliding.size, space));
    describe(of_response, *type, ints({batch, filters}, sliding.positions, space));
    const Ints taps = ints({filters, static_cast<int>(convolution.depth())}, sliding.window.kernel, space);
    check_dnn(cudnnSetFilterNdDescriptor(of_weight.object, *type, CUDNN_TENSOR_NCHW, static_cast<int>(taps.size()),
                                         taps.data()),
              "describe the weight");
    const Ints pad = ints({}, sliding.window.pad, space);
    const Ints step = ints({}, sliding.window.step, space);
    const Ints spread = ints({}, sliding.window.spread, space);
    check_dnn(
        cudnnSetConvolutionNdDescriptor(of_windows.object, space, pad.data(), step.data(), spread.data(),
                                        CUDNN_CROSS_CORRELATION, is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
        "describe windows");
    check_dnn(cudnnSetConvolutionGroupCount(of_windows.object, static_cast<int>(convolution.groups)), "set the groups");
    // Floats are not rounded to TF32 on the way.
    const cudnnMathType_t math = is_half(image.dtype) ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    check_dnn(cudnnSetConvolutionMathType(of_windows.object, math), "set the kind of arithmetic");

    const Tensor& to = product == ConvolutionProduct::kRespond ? response
                       : product == ConvolutionProduct::kPlace ? image
                                                               : weight;
    const NewWords result(to);
    auto* const out = result.as<char>();
    if (!bias.is_null()) {
        // The bias stands where the products are added.
        std::vector<int64_t> steps(static_cast<size_t>(to.rank), 0);
        steps[1] = bias.strides[0];
        const View summand(bias, shape_of(to), steps);
        const View target = dense_view(out, to.dtype, to, shape_of(to));
        copy_elements(target.tensor(), summand.tensor());
    }
    const double doubles[] = {1, bias.is_null() ? 0.0 : 1.0};
    const float floats[] = {1, bias.is_null() ? 0.0f : 1.0f};
    const auto factor = [&](int k) {
        return is_double ? static_cast<const void*>(doubles + k) : static_cast<const void*>(floats + k);
    };
    bool is_done = false;
    if (product == ConvolutionProduct::kRespond) {
        const Words x(image);
        const Words w(weight);
        is_done = run_first<cudnnConvolutionFwdAlgoPerf_t>(
            [&](cudnnHandle_t handle, int most, int* found, auto* results) {
                return cudnnGetConvolutionForwardAlgorithm_v7(handle, of_image.object, of_weight.object,
                                                              of_windows.object, of_response.object, most, found,
                                                              results);
            },
            [&](cudnnHandle_t handle, auto algorithm, void* workspace, size_t bytes) {
                return cudnnConvolutionForward(handle, factor(0), of_image.object, x.as<char>(), of_weight.object,
                                               w.as<char>(), of_windows.object, algorithm, workspace, bytes, factor(1),
                                               of_response.object, out);
            });
    } else if (product == ConvolutionProduct::kPlace) {
        const Words y(response);
        const Words w(weight);
        is_done = run_first<cudnnConvolutionBwdDataAlgoPerf_t>(
            [&](cudnnHandle_t handle, int most, int* found, auto* results) {
                return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, of_weight.object, of_response.object,
                                                                   of_windows.object, of_image.object, most, found,
                                                                   results);
            },
            [&](cudnnHandle_t handle, auto algorithm, void* workspace, size_t bytes) {
                return cudnnConvolutionBackwardData(handle, factor(0), of_weight.object, w.as<char>(),
                                                    of_response.object, y.as<char>(), of_windows.object, algorithm,
                                                    workspace, bytes, factor(1), of_image.object, out);
            });
    } else {
        const Words x(image);
        const Words y(response);
        is_done = run_first<cudnnConvolutionBwdFilterAlgoPerf_t>(
            [&](cudnnHandle_t handle, int most, int* found, auto* results) {
                return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, of_image.object, of_response.object,
                                                                     of_windows.object, of_weight.object, most, found,
                                                                     results);
            },
            [&](cudnnHandle_t handle, auto algorithm, void* workspace, size_t bytes) {
                return cudnnConvolutionBackwardFilter(handle, factor(0), of_image.object, x.as<char>(),
                                                      of_response.object, y.as<char>(), of_windows.object, algorithm,
                                                      workspace, bytes, factor(1), of_weight.object, out);
            });
    }
    if (is_done) {
        result.store();
    }
    return is_done;
}

}  // namespace diopi::cuda
