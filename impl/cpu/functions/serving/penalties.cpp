// BatchApplyRepetitionPenalty and BatchApplyTemperaturePenalty.
#include "serving/penalties.h"

#include <vector>

#include "diopi_core/arguments.h"
#include "diopi_core/clones.h"
#include "serving.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;

namespace {

// Elements of a row, `stride` apart: their sums with the bias, which may be null, are scaled.
template <typename T>
DIOPI_CPU_CLONES void scale_row(T* row, int64_t stride, int64_t count, const float* bias, double factor) {
    if (bias == nullptr) {
        DIOPI_CPU_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
            row[i * stride] = cast<T>(cast<double>(row[i * stride]) * factor);
        }
        return;
    }
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        row[i * stride] = cast<T>((cast<double>(row[i * stride]) + static_cast<double>(bias[i])) * factor);
    }
}

}  // namespace

void diopigen::entry::batch_apply_repetition_penalty_inp(const BatchApplyRepetitionPenaltyInpArgs& args) {
    if (args.penalty_type == kNoPenalty) {
        return;
    }
    const Tensor& logits = args.logits;
    require_separate({&logits}, {&args.penalties});
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lengths(args.input_lengths);
    const Input<float> penalties(args.penalties);
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        parallel_for(args.batch_size, row_grain(args.step), [&](int64_t begin, int64_t end) {
            std::vector<bool> is_held(static_cast<size_t>(args.vocab_size));
            for (int64_t b = begin; b < end; ++b) {
                is_held.assign(is_held.size(), false);
                const int64_t prompt = lengths ? lengths[b].value : args.max_input_length;
                for (int64_t i = 0; i < args.step; ++i) {
                    const int64_t token = ids[i * args.batch_size + b].value;
                    const bool is_padding = i >= prompt && i < args.max_input_length;
                    if (is_padding || token < 0 || token >= args.vocab_size || is_held[static_cast<size_t>(token)]) {
                        continue;
                    }
                    is_held[static_cast<size_t>(token)] = true;
                    T& logit = logits.elements<T>()[b * logits.strides[0] + token * logits.strides[1]];
                    logit =
                        cast<T>(penalised(cast<double>(logit), static_cast<double>(penalties[b]), args.penalty_type));
                }
            }
        });
    });
}

void diopigen::entry::batch_apply_temperature_penalty_inp(const BatchApplyTemperaturePenaltyInpArgs& args) {
    const Tensor& logits = args.logits;
    require_separate({&logits}, {&args.bias, &args.temperatures});
    const Input<float> bias(args.bias);
    const Input<float> temperatures(args.temperatures);
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        parallel_for(args.batch_size, row_grain(args.vocab_size_padd), [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) {
                T* row = logits.elements<T>() + b * logits.strides[0];
                const double divisor = static_cast<double>(temperatures[b]) + kLeastTemperature;
                scale_row(row, logits.strides[1], args.vocab_size, bias.data(), 1 / divisor);
                for (int64_t i = args.vocab_size; i < args.vocab_size_padd; ++i) {
                    row[i * logits.strides[1]] = lowest_finite<T>();
                }
            }
        });
    });
}
