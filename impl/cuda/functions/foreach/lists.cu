// Operators over lists of tensors that are more than a loop: norms, mixed precision, clipping.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/kernel_list.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/order_norm.h"
#include "diopi_cuda/size.h"
#include "foreach/foreach_kernels.h"
#include "optimizer/optimizer_kernels.h"

namespace diopigen::cuda {

namespace {

// Elements of P in place, computed in T. Members of a list that are contiguous are changed where they are.
template <typename P, typename T>
struct Unscale {
    P* data;
    const float* factor;
    float* found;

    DIOPI_DEVICE void operator()(int64_t i) const {
        const T gradient = cast<T>(data[i]);
        if (!isfinite(gradient)) {
            *found = 1;
        }
        data[i] = cast<P>(gradient * static_cast<T>(*factor));
    }
};

template <typename P, typename T>
struct Scale {
    P* data;
    double factor;

    DIOPI_DEVICE void operator()(int64_t i) const {
        data[i] = cast<P>(static_cast<T>(static_cast<double>(cast<T>(data[i])) * factor));
    }
};

// Calls `append(list, data, tensor)` for each tensor with a pointer of its dtype, launches the list and stores what was
// copied. A tensor that shares memory with one before it waits for that.
template <typename Append>
void change_all(const std::vector<Tensor>& tensors, const Append& append) {
    std::vector<std::unique_ptr<Changed>> changed;
    KernelList list;
    const auto finish = [&] {
        list.launch();
        for (const auto& one : changed) {
            one->store();
        }
        changed.clear();
    };
    KernelList::Ranges written;
    for (const Tensor& tensor : tensors) {
        if (tensor.numel == 0) {
            continue;
        }
        if (written.overlap(tensor)) {
            finish();
            written.clear();
        }
        written.add(tensor);
        changed.push_back(std::make_unique<Changed>(tensor, tensor.dtype));
        dispatch<kFloating>(tensor.dtype, [&](auto sample) {
            using P = decltype(sample);
            append(list, changed.back()->as<P>(), tensor);
        });
    }
    finish();
}

// What floating elements are computed in.
template <typename P>
using Single = std::conditional_t<std::is_same_v<P, double>, double, float>;

void update(float* factor, Int32* steps, const float* found, double growth, double backoff, int32_t interval) {
    for_each(1, [=] DIOPI_KERNEL(int64_t) {
        if (*found != 0) {
            *factor = static_cast<float>(static_cast<double>(*factor) * backoff);
            *steps = Int32(0);
            return;
        }
        *steps = *steps + Int32(1);
        if (*steps == Int32(interval)) {
            const auto grown = static_cast<float>(static_cast<double>(*factor) * growth);
            *factor = isfinite(grown) ? grown : *factor;
            *steps = Int32(0);
        }
    });
}

// The elements of a tensor, where their norm is stored, and its chunks among those of all.
struct Member {
    const void* data;
    Dtype dtype;
    void* norm;
    Dtype norm_dtype;
    int64_t first_chunk;
    int64_t chunks;
};

// What a thread has of the norm of a chunk.
template <typename S>
DIOPI_DEVICE double joined(const OrderNorm& norm, const void* data, const ListChunk& chunk, const Group& group) {
    using A = std::conditional_t<is_complex(dtype_of<S>), Complex128, double>;
    const auto* elements = static_cast<const S*>(data);
    double sum = norm.identity();
    for (int64_t i = chunk.first + group.thread(); i < chunk.end; i += group.size()) {
        sum = norm.join(sum, norm.term(size_of_element(cast<A>(elements[i]))));
    }
    return sum;
}

DIOPI_DEVICE double joined(const OrderNorm& norm, const Member& member, const ListChunk& chunk, const Group& group) {
    switch (member.dtype) {
        case Dtype::kFloat16:
            return joined<Half>(norm, member.data, chunk, group);
        case Dtype::kBfloat16:
            return joined<Bfloat16>(norm, member.data, chunk, group);
        case Dtype::kFloat32:
            return joined<float>(norm, member.data, chunk, group);
        case Dtype::kFloat64:
            return joined<double>(norm, member.data, chunk, group);
        case Dtype::kComplex64:
            return joined<Complex64>(norm, member.data, chunk, group);
        default:
            return joined<Complex128>(norm, member.data, chunk, group);
    }
}

// The norms of contiguous tensors: chunks first, whose results are joined in order.
void store_norms(std::vector<Member> members, const std::vector<int64_t>& counts, double order) {
    const std::vector<ListChunk> chunks = chunks_of(counts);
    for (size_t c = 0; c < chunks.size(); ++c) {
        Member& member = members[static_cast<size_t>(chunks[c].kernel)];
        member.first_chunk = member.chunks == 0 ? static_cast<int64_t>(c) : member.first_chunk;
        ++member.chunks;
    }
    const Buffer member_table = to_device(members);
    const Buffer chunk_table = to_device(chunks);
    Buffer partial;
    partial.allocate(static_cast<int64_t>(chunks.size() * sizeof(double)));
    const auto* const of_members = static_cast<const Member*>(member_table.data());
    const auto* const of_chunks = static_cast<const ListChunk*>(chunk_table.data());
    auto* const sums = static_cast<double*>(partial.data());
    const OrderNorm norm{order};
    for_groups(static_cast<int64_t>(chunks.size()), kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const ListChunk chunk = of_chunks[at];
        const double own = joined(norm, of_members[chunk.kernel], chunk, group);
        const double sum = group.reduce(own, [=](double a, double b) { return norm.join(a, b); });
        if (group.thread() == 0) {
            sums[at] = sum;
        }
    });
    for_each(static_cast<int64_t>(members.size()), [=] DIOPI_KERNEL(int64_t k) {
        const Member& member = of_members[k];
        double sum = norm.identity();
        for (int64_t c = 0; c < member.chunks; ++c) {
            sum = norm.join(sum, sums[member.first_chunk + c]);
        }
        store<double>(member.norm, member.norm_dtype, norm.finish(sum));
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void norms_of_all(const std::vector<Tensor>& results, const std::vector<Tensor>& vectors, double order) {
    std::vector<std::unique_ptr<RawInput>> inputs;
    std::vector<std::unique_ptr<RawOutput>> outputs;
    std::vector<cuda::Member> members;
    std::vector<int64_t> counts;
    for (size_t k = 0; k < vectors.size(); ++k) {
        inputs.push_back(std::make_unique<RawInput>(vectors[k]));
        outputs.push_back(std::make_unique<RawOutput>(results[k]));
        members.push_back(
            {inputs.back()->as<void>(), vectors[k].dtype, outputs.back()->as<void>(), results[k].dtype, 0, 0});
        counts.push_back(vectors[k].numel);
    }
    cuda::store_norms(std::move(members), counts, order);
    for (const auto& output : outputs) {
        output->store();
    }
}

void update_scale(const Tensor& scale_tensor, const Tensor& tracker_tensor, const Tensor& found_tensor,
                  double scale_growth_factor, double scale_backoff_factor, int32_t growth_interval) {
    const Changed scale(scale_tensor, Dtype::kFloat32);
    const Changed tracker(tracker_tensor, Dtype::kInt32);
    const Input<float> found(found_tensor);
    cuda::update(scale.as<float>(), tracker.as<Int32>(), found.data(), scale_growth_factor, scale_backoff_factor,
                 growth_interval);
    scale.store();
    tracker.store();
}

void unscale(const std::vector<Tensor>& gradients, const Tensor& found_tensor, const Tensor& scale_tensor) {
    const Input<float> factor(scale_tensor);
    const Changed found(found_tensor, Dtype::kFloat32);
    cuda::change_all(gradients, [&](cuda::KernelList& list, auto* data, const Tensor& tensor) {
        using P = std::remove_pointer_t<decltype(data)>;
        list.append(cuda::Unscale<P, cuda::Single<P>>{data, factor.data(), found.as<float>()}, tensor.numel);
    });
    found.store();
}

// The norms of the tensors are those of one vector, whose norm is asked for.
double joint_norm(const std::vector<Tensor>& tensors, double order) {
    std::vector<Tensor> filled;
    std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(filled),
                 [](const Tensor& tensor) { return tensor.numel > 0; });
    if (filled.empty()) {
        return 0;
    }
    const auto count = static_cast<int64_t>(filled.size());
    const Temporary all({count}, Dtype::kFloat64, filled[0]);
    std::vector<View> each;
    std::vector<Tensor> results;
    for (int64_t k = 0; k < count; ++k) {
        each.push_back(selected(all.tensor(), 0, k));
        results.push_back(each.back().tensor());
    }
    norms_of_all(results, filled, order);
    std::vector<double> norms(filled.size());
    cuda::read_back(norms.data(), all.tensor().data, norms.size() * sizeof(double));
    double result = std::isinf(order) ? norms[0] : 0;
    for (const double norm : norms) {
        if (std::isinf(order)) {
            result = order > 0 ? maximum(result, norm) : minimum(result, norm);
        } else {
            result += order == 0 ? static_cast<double>(norm != 0) : std::pow(norm, order);
        }
    }
    return std::isinf(order) || order == 0 ? result : std::pow(result, 1 / order);
}

void scale_all(const std::vector<Tensor>& gradients, double factor) {
    cuda::change_all(gradients, [&](cuda::KernelList& list, auto* data, const Tensor& tensor) {
        using P = std::remove_pointer_t<decltype(data)>;
        list.append(cuda::Scale<P, cuda::Single<P>>{data, factor}, tensor.numel);
    });
}

}  // namespace diopigen::core
