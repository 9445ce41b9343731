// Convolutions are cuDNN's forward product, and its gradients of images and of weights. Algorithms whose results change
// from run to run are left out.
#include "diopi_cuda/dnn.h"

#include <climits>
#include <map>
#include <vector>

#include "diopi_core/raw_elements.h"
#include "dnn_descriptions.h"
#include "linalg_matmul/batches.h"

namespace diopigen::cuda {

namespace {

using dnn::Descriptions;
using dnn::Handle;

constexpr size_t kMostWorkspace = size_t{256} << 20;

// Whether the numbers fit into cuDNN's, and windows are counted as it counts them.
bool fits(const Tensor& image, const Tensor& response, const Tensor& weight, const Convolution& convolution) {
    bool fits = true;
    for (const Tensor* tensor : {&image, &response, &weight}) {
        fits = fits && tensor->dtype == image.dtype && tensor->numel > 0 && tensor->numel <= INT_MAX;
    }
    const Sliding& sliding = convolution.sliding;
    for (int k = 0; fits && k < kSpace; ++k) {
        fits = sliding.window.count(k, sliding.size[k]) == sliding.positions[k] && sliding.window.pad[k] <= INT_MAX &&
               sliding.window.stride[k] <= INT_MAX && sliding.window.spread[k] <= INT_MAX;
    }
    return fits;
}

// An algorithm that has run, or that none does.
struct Choice {
    bool is_there = false;
    int algorithm = 0;
    size_t memory = 0;
};

using Key = std::vector<int64_t>;

Key key_of(const Handle& handle, ConvolutionProduct product, Dtype dtype, MemoryFormat format,
           const Convolution& convolution) {
    const Sliding& sliding = convolution.sliding;
    Key key = {
        handle.device(),   static_cast<int64_t>(product), static_cast<int64_t>(dtype), static_cast<int64_t>(format),
        convolution.batch, convolution.channels,          convolution.filters,         convolution.groups};
    for (const Triple* sizes : {&sliding.size, &sliding.positions, &sliding.window.kernel, &sliding.window.pad,
                                &sliding.window.stride, &sliding.window.spread}) {
        key.insert(key.end(), std::begin(*sizes), std::end(*sizes));
    }
    return key;
}

// The algorithms selected for convolutions before. Owning a handle is exclusive.
std::map<Key, Choice>& choices() {
    static std::map<Key, Choice> all;
    return all;
}

void remember(const Key& key, const Choice& choice) {
    constexpr size_t kMost = 4096;
    if (choices().size() >= kMost) {
        choices().clear();
    }
    choices()[key] = choice;
}

// A tensor and what it is to cuDNN.
template <typename Description, typename Data>
struct Described {
    Description description;
    Data* data;
};

// The two functions of a product. The three products have them in one form: two tensors that are read, one that is
// written.
template <typename A, typename B, typename C, typename Result, typename Algorithm>
struct Functions {
    cudnnStatus_t (*propose)(cudnnHandle_t, A, B, cudnnConvolutionDescriptor_t, C, int, int*, Result*);
    cudnnStatus_t (*convolve)(cudnnHandle_t, const void*, A, const void*, B, const void*, cudnnConvolutionDescriptor_t,
                              Algorithm, void*, size_t, const void*, C, void*);

    // result = product + beta result, by the algorithm that ran before, else by the first of the heuristic's proposals
    // that runs. False where there is none.
    bool run(const Handle& handle, const Key& key, const void* one, const void* beta,
             const cudnnConvolutionDescriptor_t& windows, const Described<A, const char>& first,
             const Described<B, const char>& second, const Described<C, char>& result) const {
        const auto try_out = [&](const Choice& choice) {
            Buffer workspace;
            workspace.allocate(static_cast<int64_t>(choice.memory));
            const cudnnStatus_t status =
                convolve(handle, one, first.description, first.data, second.description, second.data, windows,
                         static_cast<Algorithm>(choice.algorithm), workspace.data(), choice.memory, beta,
                         result.description, result.data);
            if (dnn::is_unsupported(status)) {
                return false;
            }
            dnn::check_dnn(status, "convolve");
            return true;
        };
        const auto known = choices().find(key);
        if (known != choices().end() && (!known->second.is_there || try_out(known->second))) {
            return known->second.is_there;
        }
        constexpr int kMost = 8;
        Result results[kMost];
        int found = 0;
        const cudnnStatus_t proposed =
            propose(handle, first.description, second.description, windows, result.description, kMost, &found, results);
        if (!dnn::is_unsupported(proposed)) {
            dnn::check_dnn(proposed, "choose an algorithm");
        }
        for (int k = 0; k < found; ++k) {
            const Choice choice{true, static_cast<int>(results[k].algo), results[k].memory};
            const bool suits = results[k].status == CUDNN_STATUS_SUCCESS &&
                               results[k].determinism == CUDNN_DETERMINISTIC && choice.memory <= kMostWorkspace;
            if (suits && try_out(choice)) {
                remember(key, choice);
                return true;
            }
        }
        remember(key, Choice());
        return false;
    }
};

template <typename A, typename B, typename C, typename Result, typename Algorithm>
Functions(cudnnStatus_t (*)(cudnnHandle_t, A, B, cudnnConvolutionDescriptor_t, C, int, int*, Result*),
          cudnnStatus_t (*)(cudnnHandle_t, const void*, A, const void*, B, const void*, cudnnConvolutionDescriptor_t,
                            Algorithm, void*, size_t, const void*, C, void*)) -> Functions<A, B, C, Result, Algorithm>;

bool convolve(ConvolutionProduct product, const Tensor& image, const Tensor& response, const Tensor& weight,
              const Tensor& bias, const Convolution& convolution, MemoryFormat format) {
    const Descriptions descriptions(convolution, image.dtype, format);
    const int64_t space = image.rank - 2;
    const View images = arranged(image, space, format);
    const View responses = arranged(response, space, format);
    const View weights = arranged(weight, space, format);
    const View& to = product == ConvolutionProduct::kForward        ? responses
                     : product == ConvolutionProduct::kBackwardData ? images
                                                                    : weights;
    const RawOutput result(to.tensor());
    auto* const out = result.as<char>();
    if (!bias.is_null()) {
        // The bias is where the products are added.
        std::vector<int64_t> bias_strides(static_cast<size_t>(to.tensor().rank), 0);
        bias_strides[format == MemoryFormat::kChannelsLast ? bias_strides.size() - 1 : 1] = bias.strides[0];
        const View summand(bias, shape_of(to.tensor()), bias_strides);
        const View target = dense_view(out, to.tensor().dtype, to.tensor(), shape_of(to.tensor()));
        copy_elements(target.tensor(), summand.tensor());
    }
    const bool is_double = image.dtype == Dtype::kFloat64;
    const double doubles[] = {1, bias.is_null() ? 0.0 : 1.0};
    const float floats[] = {1, bias.is_null() ? 0.0f : 1.0f};
    const auto factor = [&](int k) {
        return is_double ? static_cast<const void*>(doubles + k) : static_cast<const void*>(floats + k);
    };
    const Handle handle;
    const Key key = key_of(handle, product, image.dtype, format, convolution);
    const auto run = [&](const auto& functions, const auto& first, const auto& second, const auto& written) {
        return functions.run(handle, key, factor(0), factor(1), descriptions.windows(), first, second, written);
    };
    const auto read = [](auto description, const RawInput& raw) {
        return Described<decltype(description), const char>{description, raw.as<char>()};
    };
    const auto write = [&](auto description) { return Described<decltype(description), char>{description, out}; };
    bool is_done = false;
    if (product == ConvolutionProduct::kForward) {
        const RawInput x(images.tensor());
        const RawInput w(weights.tensor());
        is_done = run(Functions{cudnnGetConvolutionForwardAlgorithm_v7, cudnnConvolutionForward},
                      read(descriptions.image(), x), read(descriptions.weight(), w), write(descriptions.response()));
    } else if (product == ConvolutionProduct::kBackwardData) {
        const RawInput w(weights.tensor());
        const RawInput y(responses.tensor());
        is_done = run(Functions{cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnConvolutionBackwardData},
                      read(descriptions.weight(), w), read(descriptions.response(), y), write(descriptions.image()));
    } else {
        const RawInput x(images.tensor());
        const RawInput y(responses.tensor());
        is_done = run(Functions{cudnnGetConvolutionBackwardFilterAlgorithm_v7, cudnnConvolutionBackwardFilter},
                      read(descriptions.image(), x), read(descriptions.response(), y), write(descriptions.weight()));
    }
    if (is_done) {
        result.store();
    }
    return is_done;
}

}  // namespace

bool convolve_by_dnn(ConvolutionProduct product, const Tensor& image, const Tensor& response, const Tensor& weight,
                     const Tensor& bias, const Convolution& convolution) {
    if (!dnn::type_of(image.dtype) || !fits(image, response, weight, convolution) ||
        (!bias.is_null() && bias.dtype != image.dtype)) {
        return false;
    }
    // Not for all convolutions are there kernels with the channels last.
    const bool is_last = is_channels_last(image, image.rank - 2) && is_channels_last(response, image.rank - 2);
    return (is_last && convolve(product, image, response, weight, bias, convolution, MemoryFormat::kChannelsLast)) ||
           convolve(product, image, response, weight, bias, convolution, MemoryFormat::kChannelsFirst);
}

}  // namespace diopigen::cuda
