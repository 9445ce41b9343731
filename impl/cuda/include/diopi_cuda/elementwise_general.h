// Elementwise operators over any dtypes: an element to a thread.
#ifndef DIOPI_CUDA_ELEMENTWISE_GENERAL_H_
#define DIOPI_CUDA_ELEMENTWISE_GENERAL_H_

#include "diopi_cuda/elementwise_operands.h"

namespace diopi::cuda::detail {

template <typename Loop, typename T>
struct GeneralKernel {
    static constexpr int kInputs = Loop::kSignature.inputs;
    static constexpr int kOperands = kInputs + Loop::kSignature.outputs;

    Paths<kOperands> paths;
    Shared shared;
    Slot numbers[kInputs > 0 ? kInputs : 1];
    Dtype dtypes[kOperands];
    Dtype rounded[kOperands];

    explicit GeneralKernel(const ElementwiseJob& job)
        : paths(job.dims, job.operands, job.dims.rank), shared(shared_of<T>(job)) {
        for (int k = 0; k < kOperands; ++k) {
            dtypes[k] = job.operands[k].dtype;
            rounded[k] = job.rounded[k];
        }
        NumbersOf<Loop, T> filled{job, numbers};
        unroll_on_host<kInputs>(filled);
    }

    struct Loads {
        const GeneralKernel& call;
        Item& item;
        char* const* places;
        template <int k>
        DIOPI_DEVICE void at() {
            using V = typename KindOf<T, Loop::kSignature.kinds[k]>::type;
            item.inputs[k].template as<V>() = call.paths.data[k] == nullptr
                                                  ? call.numbers[k].template as<V>()
                                                  : rounded_to(call.rounded[k], load<V>(places[k], call.dtypes[k]));
        }
    };

    struct Stores {
        const GeneralKernel& call;
        Item& item;
        char* const* places;
        template <int k>
        DIOPI_DEVICE void at() {
            constexpr int kAt = kInputs + k;
            using V = typename KindOf<T, Loop::kSignature.kinds[kAt]>::type;
            if (call.paths.data[kAt] != nullptr) {
                store<V>(places[kAt], call.dtypes[kAt],
                         rounded_to(call.rounded[kAt], item.outputs[k].template as<V>()));
            }
        }
    };

    DIOPI_DEVICE void operator()(int64_t position) const {
        char* at[kOperands];
        if (position <= kMaxShort) {
            paths.find(static_cast<uint32_t>(position), at);
        } else {
            paths.find_far(position, at);
        }
        Item item(shared, position);
        Loads loads{*this, item, at};
        unroll<kInputs>(loads);
        Loop::template run<T>(item);
        Stores stores{*this, item, at};
        unroll<Loop::kSignature.outputs>(stores);
    }
};

template <typename Loop, typename T>
void launch_general(const ElementwiseJob& job, int64_t count) {
    for_each(count, GeneralKernel<Loop, T>(job));
}

}  // namespace diopi::cuda::detail

#endif  // DIOPI_CUDA_ELEMENTWISE_GENERAL_H_
