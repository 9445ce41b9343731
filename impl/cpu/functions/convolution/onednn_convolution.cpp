#include "onednn_convolution.h"

#include "diopi_core/dense.h"
#include "diopi_core/threads.h"
#include "diopi_cpu/finite.h"

#ifdef DIOPI_CPU_ONEDNN
#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#endif

namespace diopigen::cpu::onednn {

#ifdef DIOPI_CPU_ONEDNN

namespace {

using dnnl::memory;
using Dims = memory::dims;

const dnnl::engine& engine() {
    static const dnnl::engine found(dnnl::engine::kind::cpu, 0);
    return found;
}

template <typename T>
constexpr memory::data_type kType = memory::data_type::f32;
template <>
constexpr memory::data_type kType<Bfloat16> = memory::data_type::bf16;

// The geometry in oneDNN's terms, with two dimensions of space where the first of three is trivial.
struct Geometry {
    Dims stride;
    Dims spread;  // 0 for neighbours
    Dims pad;
    Dims image;
    Dims response;
    Dims weight;  // with the groups first, if there are several
    bool is_supported = true;

    explicit Geometry(const Convolution& convolution) {
        const auto& [window, size, positions] = convolution.sliding;
        const bool is_flat = size[0] == 1 && positions[0] == 1 && window.kernel[0] == 1 && window.pad[0] == 0;
        image = {convolution.batch, convolution.channels};
        response = {convolution.batch, convolution.filters};
        weight = {convolution.group_filters(), convolution.depth()};
        if (convolution.groups > 1) {
            weight.insert(weight.begin(), convolution.groups);
        }
        for (int k = is_flat ? 1 : 0; k < kSpace; ++k) {
            stride.push_back(window.stride[k]);
            spread.push_back(window.spread[k] - 1);
            pad.push_back(window.pad[k]);
            image.push_back(size[k]);
            response.push_back(positions[k]);
            weight.push_back(window.kernel[k]);
            // What an output padding of a transposed convolution may add is beyond oneDNN.
            is_supported = is_supported && window.count(k, size[k]) == positions[k];
        }
        for (const Dims* sizes : {&image, &response, &weight}) {
            for (const int64_t n : *sizes) {
                is_supported = is_supported && n > 0;
            }
        }
    }
};

Dims row_major(const Dims& sizes) {
    Dims strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * sizes[i];
    }
    return strides;
}

Dims channels_last(const Dims& sizes) {
    Dims strides(sizes.size(), sizes[1]);
    strides[1] = 1;
    for (size_t i = sizes.size() - 1; i-- > 2;) {
        strides[i] = strides[i + 1] * sizes[i + 1];
    }
    strides[0] = strides[2] * sizes[2];
    return strides;
}

// Whether the tensor is laid out as row-major elements would with the channels last.
bool is_channels_last(const Tensor& tensor) {
    const Dims sizes(tensor.shape, tensor.shape + tensor.rank);
    const Dims strides = channels_last(sizes);
    for (int64_t i = 0; i < tensor.rank; ++i) {
        if (sizes[static_cast<size_t>(i)] != 1 && tensor.strides[i] != strides[static_cast<size_t>(i)]) {
            return false;
        }
    }
    return true;
}

// An operand as oneDNN sees it: where it lies if that is dense, else as a row-major copy.
template <typename T>
struct DnnOperand {
    memory::desc layout;
    Buffer copy;
    void* data = nullptr;
    const Tensor& tensor;

    DnnOperand(const Tensor& source, const Dims& sizes, bool is_read, bool is_image) : tensor(source) {
        const bool is_aligned =
            reinterpret_cast<uintptr_t>(source.data) % static_cast<uintptr_t>(size_of(source.dtype)) == 0;
        if (source.dtype == dtype_of<T> && is_aligned && is_image && !is_contiguous(source) &&
            is_channels_last(source)) {
            layout = memory::desc(sizes, kType<T>, channels_last(sizes));
            data = source.data;
            return;
        }
        layout = memory::desc(sizes, kType<T>, row_major(sizes));
        data =
            is_read ? detail::dense_input(source, dtype_of<T>, copy) : detail::dense_output(source, dtype_of<T>, copy);
    }
    // Stores a result, and returns true, where all of it is finite. What oneDNN makes of infinities, NaN and overflow
    // follows the kernel, and so the processor: some multiply the padding, some pairs of channels that are not there.
    bool store_numbers() const {
        if (!are_finite(static_cast<const T*>(data), tensor.numel)) {
            return false;
        }
        if (data != tensor.data) {
            detail::store_dense(tensor, dtype_of<T>, data);
        }
        return true;
    }
};

bool is_slow(const char* implementation) { return std::string(implementation).find("ref") != std::string::npos; }

// One call of a primitive: its operands in the layouts that it requires.
class Call {
  public:
    explicit Call() : stream_(engine()) {}

    void read(int argument, const memory::desc& has, void* data, const memory::desc& required) {
        memory source(has, engine(), data);
        if (required != has) {
            memory moved(required, engine());
            dnnl::reorder(source, moved).execute(stream_, source, moved);
            source = moved;
        }
        arguments_.insert({argument, source});
    }
    void write(int argument, const memory::desc& has, void* data, const memory::desc& required) {
        result_ = memory(has, engine(), data);
        written_ = required != has ? memory(required, engine()) : result_;
        arguments_.insert({argument, written_});
    }
    void execute(const dnnl::primitive& primitive) {
        primitive.execute(stream_, arguments_);
        if (written_ != result_) {
            dnnl::reorder(written_, result_).execute(stream_, written_, result_);
        }
        stream_.wait();
    }

  private:
    dnnl::stream stream_;
    std::unordered_map<int, memory> arguments_;
    memory result_;
    memory written_;
};

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward_of(const Geometry& geometry, memory::data_type type,
                                                     const memory::desc& bias) {
    const auto any = [type](const Dims& sizes) { return memory::desc(sizes, type, memory::format_tag::any); };
    return {engine(),
            dnnl::prop_kind::forward_training,
            kAlgorithm,
            any(geometry.image),
            any(geometry.weight),
            bias,
            any(geometry.response),
            geometry.stride,
            geometry.spread,
            geometry.pad,
            geometry.pad,
            dnnl::primitive_attr(),
            true};
}

template <typename T>
bool respond_as(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
                const Geometry& geometry) {
    const PoolForOthers pool;
    const memory::desc summands = bias.is_null() ? memory::desc() : memory::desc({bias.numel}, kType<T>, Dims{1});
    const auto selected = forward_of(geometry, kType<T>, summands);
    if (!selected || is_slow(selected.impl_info_str())) {
        return false;
    }
    const DnnOperand<T> x(image, geometry.image, true, true);
    const DnnOperand<T> w(weight, geometry.weight, true, false);
    const DnnOperand<T> y(response, geometry.response, false, true);
    Call call;
    Buffer added;
    if (!bias.is_null()) {
        call.read(DNNL_ARG_BIAS, summands, detail::dense_input(bias, dtype_of<T>, added), summands);
    }
    call.read(DNNL_ARG_SRC, x.layout, x.data, selected.src_desc());
    call.read(DNNL_ARG_WEIGHTS, w.layout, w.data, selected.weights_desc());
    call.write(DNNL_ARG_DST, y.layout, y.data, selected.dst_desc());
    call.execute(dnnl::convolution_forward(selected));
    return y.store_numbers();
}

template <typename T>
bool respond_transposed_as(const Tensor& image, const Tensor& response, const Tensor& weight,
                           const Geometry& geometry) {
    const PoolForOthers pool;
    const auto hint = forward_of(geometry, kType<T>, memory::desc());
    if (!hint) {
        return false;
    }
    const auto any = [](const Dims& sizes) { return memory::desc(sizes, kType<T>, memory::format_tag::any); };
    const dnnl::convolution_backward_data::primitive_desc selected(
        engine(), kAlgorithm, any(geometry.image), any(geometry.weight), any(geometry.response), geometry.stride,
        geometry.spread, geometry.pad, geometry.pad, hint, dnnl::primitive_attr(), true);
    if (!selected || is_slow(selected.impl_info_str())) {
        return false;
    }
    const DnnOperand<T> x(image, geometry.image, false, true);
    const DnnOperand<T> w(weight, geometry.weight, true, false);
    const DnnOperand<T> y(response, geometry.response, true, true);
    Call call;
    call.read(DNNL_ARG_DIFF_DST, y.layout, y.data, selected.diff_dst_desc());
    call.read(DNNL_ARG_WEIGHTS, w.layout, w.data, selected.weights_desc());
    call.write(DNNL_ARG_DIFF_SRC, x.layout, x.data, selected.diff_src_desc());
    call.execute(dnnl::convolution_backward_data(selected));
    return x.store_numbers();
}

template <typename T>
bool correlate_as(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Geometry& geometry) {
    const PoolForOthers pool;
    const auto hint = forward_of(geometry, kType<T>, memory::desc());
    if (!hint) {
        return false;
    }
    const auto any = [](const Dims& sizes) { return memory::desc(sizes, kType<T>, memory::format_tag::any); };
    const dnnl::convolution_backward_weights::primitive_desc selected(
        engine(), kAlgorithm, any(geometry.image), any(geometry.weight), any(geometry.response), geometry.stride,
        geometry.spread, geometry.pad, geometry.pad, hint, dnnl::primitive_attr(), true);
    if (!selected || is_slow(selected.impl_info_str())) {
        return false;
    }
    const DnnOperand<T> x(image, geometry.image, true, true);
    const DnnOperand<T> w(grad_weight, geometry.weight, false, false);
    const DnnOperand<T> y(response, geometry.response, true, true);
    Call call;
    call.read(DNNL_ARG_SRC, x.layout, x.data, selected.src_desc());
    call.read(DNNL_ARG_DIFF_DST, y.layout, y.data, selected.diff_dst_desc());
    call.write(DNNL_ARG_DIFF_WEIGHTS, w.layout, w.data, selected.diff_weights_desc());
    call.execute(dnnl::convolution_backward_weights(selected));
    return w.store_numbers();
}

// Calls `attempt` with a T for the types to try: the tensor's own, then float for halves. Errors of oneDNN count as
// having no implementation.
template <typename Attempt>
bool try_types(Dtype dtype, Attempt&& attempt) {
    try {
        return (dtype == Dtype::kBfloat16 && attempt(Bfloat16{})) ||
               ((dtype == Dtype::kFloat32 || is_half(dtype)) && attempt(float{}));
    } catch (const dnnl::error&) {
        return false;
    }
}

}  // namespace

bool respond(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
             const Convolution& convolution) {
    const Geometry geometry(convolution);
    return geometry.is_supported && try_types(response.dtype, [&](auto sample) {
               return respond_as<decltype(sample)>(response, image, weight, bias, geometry);
           });
}

bool respond_transposed(const Tensor& image, const Tensor& response, const Tensor& weight,
                        const Convolution& convolution) {
    const Geometry geometry(convolution);
    return geometry.is_supported && try_types(image.dtype, [&](auto sample) {
               return respond_transposed_as<decltype(sample)>(image, response, weight, geometry);
           });
}

bool correlate(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Convolution& convolution) {
    const Geometry geometry(convolution);
    return geometry.is_supported && try_types(grad_weight.dtype, [&](auto sample) {
               return correlate_as<decltype(sample)>(grad_weight, image, response, geometry);
           });
}

#else

bool respond(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Convolution&) { return false; }
bool respond_transposed(const Tensor&, const Tensor&, const Tensor&, const Convolution&) { return false; }
bool correlate(const Tensor&, const Tensor&, const Tensor&, const Convolution&) { return false; }

#endif

}  // namespace diopigen::cpu::onednn
