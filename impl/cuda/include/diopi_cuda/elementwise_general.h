// Elementwise operators over any dtypes: an element to a thread.
#ifndef DIOPI_CUDA_ELEMENTWISE_GENERAL_H_
#define DIOPI_CUDA_ELEMENTWISE_GENERAL_H_

#include "diopi_cuda/elementwise_operands.h"

namespace diopigen::cuda::detail {

// The operands of a loop, whose elements are handed over as T.
template <typename Kinds, typename T>
struct GeneralOperands {
    static constexpr int kInputs = Kinds::kInputs;
    static constexpr int kOutputs = Kinds::kOutputs;
    static constexpr int kOperands = kInputs + kOutputs;

    Paths<kOperands> paths;
    Common common;
    Slot numbers[kInputs > 0 ? kInputs : 1];
    Dtype dtypes[kOperands];
    Dtype rounded[kOperands];

    explicit GeneralOperands(const ElementwiseJob& job)
        : paths(job.dims, job.operands, job.dims.rank), common(common_of<T>(job)) {
        for (int k = 0; k < kOperands; ++k) {
            dtypes[k] = job.operands[k].dtype;
            rounded[k] = job.rounded[k];
        }
        NumbersOf<Kinds, T> filled{job, numbers};
        unroll_on_host<kInputs>(filled);
    }

    struct Loads {
        const GeneralOperands& call;
        Item& item;
        char* const* addresses;
        template <int k>
        DIOPI_DEVICE void at() {
            using V = typename KindOf<T, Kinds::at(k)>::type;
            item.inputs[k].template as<V>() = call.paths.data[k] == nullptr
                                                  ? call.numbers[k].template as<V>()
                                                  : rounded_to(call.rounded[k], load<V>(addresses[k], call.dtypes[k]));
        }
    };

    struct Stores {
        const GeneralOperands& call;
        Item& item;
        char* const* addresses;
        template <int k>
        DIOPI_DEVICE void at() {
            constexpr int kAt = kInputs + k;
            using V = typename KindOf<T, Kinds::at(kAt)>::type;
            if (call.paths.data[kAt] != nullptr) {
                store<V>(addresses[kAt], call.dtypes[kAt],
                         rounded_to(call.rounded[kAt], item.outputs[k].template as<V>()));
            }
        }
    };

    // Finds the operands of an element, and gives those that are read to `item`.
    DIOPI_DEVICE void read(int64_t position, char* (&at)[kOperands], Item& item) const {
        if (position <= kMaxShort) {
            paths.find(static_cast<uint32_t>(position), at);
        } else {
            paths.find_far(position, at);
        }
        Loads loads{*this, item, at};
        unroll<kInputs>(loads);
    }
    DIOPI_DEVICE void write(char* const* at, Item& item) const {
        Stores stores{*this, item, at};
        unroll<kOutputs>(stores);
    }
};

template <typename Loop, typename T>
struct GeneralKernel : GeneralOperands<KindsOf<Loop>, T> {
    using GeneralOperands<KindsOf<Loop>, T>::GeneralOperands;

    DIOPI_DEVICE void operator()(int64_t position) const {
        char* at[GeneralKernel::kOperands];
        Item item(this->common, position);
        this->read(position, at, item);
        Loop::template run<T>(item);
        this->write(at, item);
    }
};

template <typename Loop, typename T>
void launch_general(const ElementwiseJob& job, int64_t count) {
    for_each(count, GeneralKernel<Loop, T>(job));
}

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_ELEMENTWISE_GENERAL_H_
