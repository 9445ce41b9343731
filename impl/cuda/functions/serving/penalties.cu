// BatchApplyRepetitionPenalty and BatchApplyTemperaturePenalty.
#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/operand.h"
#include "serving.h"
#include "serving/penalties.h"

namespace diopigen::cuda {

namespace {

template <typename T>
struct Logits {
    explicit Logits(const Tensor& tensor)
        : data(tensor.elements<T>()), row_stride(tensor.strides[0]), token_stride(tensor.strides[1]) {}
    DIOPI_DEVICE T& at(int64_t row, int64_t token) const { return data[row * row_stride + token * token_stride]; }

    T* data;
    int64_t row_stride;
    int64_t token_stride;
};

// The tokens of all sequences by position, without padding.
struct Held {
    const Int64* ids;
    const Int64* lengths;  // of the prompts; may be null
    int64_t longest;
    int64_t batch;
    int64_t vocabulary;

    // The token of a sequence, or -1 where it is padding or none.
    DIOPI_DEVICE int64_t token(int64_t b, int64_t i) const {
        const int64_t prompt = lengths != nullptr ? lengths[b].value : longest;
        const int64_t found = ids[i * batch + b].value;
        const bool is_padding = i >= prompt && i < longest;
        return is_padding || found < 0 || found >= vocabulary ? -1 : found;
    }
};

// The thread of the first position that holds a token changes its logit.
template <typename T>
void penalise(const Logits<T>& logits, const float* penalties, const Held& held, int64_t positions, int64_t kind) {
    for_each(held.batch * positions, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t b = k / positions;
        const int64_t i = k % positions;
        const int64_t token = held.token(b, i);
        for (int64_t before = 0; before < i; ++before) {
            if (held.token(b, before) == token) {
                return;
            }
        }
        if (token >= 0) {
            T& logit = logits.at(b, token);
            logit = core::cast<T>(
                core::serving::penalised(core::cast<double>(logit), static_cast<double>(penalties[b]), kind));
        }
    });
}

template <typename T>
void divide(const Logits<T>& logits, const float* bias, const float* temperatures, int64_t batch, int64_t vocabulary,
            int64_t padded) {
    const T lowest = core::serving::lowest_finite<T>();
    const double least = core::serving::kLeastTemperature;
    for_each(batch * padded, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t b = k / padded;
        const int64_t i = k % padded;
        T& logit = logits.at(b, i);
        if (i >= vocabulary) {
            logit = lowest;
            return;
        }
        const double sum = core::cast<double>(logit) + (bias != nullptr ? static_cast<double>(bias[i]) : 0.0);
        logit = core::cast<T>(sum / (static_cast<double>(temperatures[b]) + least));
    });
}

}  // namespace

}  // namespace diopigen::cuda

void diopigen::entry::batch_apply_repetition_penalty_inp(const BatchApplyRepetitionPenaltyInpArgs& args) {
    using namespace diopigen::cuda;
    if (args.penalty_type == core::serving::kNoPenalty) {
        return;
    }
    require_separate({&args.logits}, {&args.penalties});
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lengths(args.input_lengths);
    const Input<float> penalties(args.penalties);
    const Held held{ids.data(), lengths.data(), args.max_input_length, args.batch_size, args.vocab_size};
    require_on_device(args.logits);
    dispatch<kFloating>(args.logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        penalise<T>(Logits<T>(args.logits), penalties.data(), held, args.step, args.penalty_type);
    });
}

void diopigen::entry::batch_apply_temperature_penalty_inp(const BatchApplyTemperaturePenaltyInpArgs& args) {
    using namespace diopigen::cuda;
    require_separate({&args.logits}, {&args.bias, &args.temperatures});
    const Input<float> bias(args.bias);
    const Input<float> temperatures(args.temperatures);
    require_on_device(args.logits);
    dispatch<kFloating>(args.logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        divide<T>(Logits<T>(args.logits), bias.data(), temperatures.data(), args.batch_size, args.vocab_size,
                  args.vocab_size_padd);
    });
}
