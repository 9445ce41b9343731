// DestIndexCopyKV and ApplyPenalty.
#include <map>

#include "attention/attention_kernels.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/primitives.h"
#include "diopi_cuda/to_device.h"

namespace diopigen::cuda {

namespace {

struct Move {
    int64_t slot;
    int64_t token;
};

template <typename W>
void move(const Dims& cache_dims, const Operand& cache, const Dims& token_dims, const Operand& tokens,
          const Move* moves, int64_t count, int64_t width) {
    for_each(count * width, [=] DIOPI_KERNEL(int64_t at) {
        const Move own = moves[at / width];
        const int64_t i = at % width;
        *reinterpret_cast<W*>(cache.at(cache_dims, own.slot * width + i)) =
            *reinterpret_cast<const W*>(tokens.at(token_dims, own.token * width + i));
    });
}

void look_for_others(const Finding& found, const double* values, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!(values[i] > 0)) {
            found();
        }
    });
}

void make_keys(uint64_t* keys, int64_t* numbers, const int64_t* indices, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        keys[i] = static_cast<uint64_t>(indices[i]);
        numbers[i] = i;
    });
}

struct Amounts {
    const double* presence;
    const double* frequency;
    const double* repetition;  // may be null
    const Int64* counts;
    const int64_t* rows;  // may be null
};

// One thread for each logit takes what is listed for it in order.
template <typename T>
void penalise(T* logits, int64_t row_stride, int64_t token_stride, int64_t vocabulary, const uint64_t* keys,
              const int64_t* order, int64_t count, const Amounts& amounts) {
    for_each(count, [=] DIOPI_KERNEL(int64_t first) {
        const uint64_t key = keys[first];
        if (first > 0 && keys[first - 1] == key) {
            return;
        }
        const auto row_index = static_cast<int64_t>(key);
        T& logit = logits[row_index / vocabulary * row_stride + row_index % vocabulary * token_stride];
        for (int64_t k = first; k < count && keys[k] == key; ++k) {
            const int64_t i = order[k];
            const int64_t at = amounts.rows != nullptr ? amounts.rows[i] : i;
            auto value = cast<double>(logit);
            if (amounts.repetition != nullptr) {
                value = value > 0 ? value / amounts.repetition[at] : value * amounts.repetition[at];
            }
            const double amount = amounts.presence[at] + amounts.frequency[at] * cast<double>(amounts.counts[i]);
            logit = cast<T>(value - amount);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::attention {

void copy_to_slots(const Tensor& cache, const Tensor& tokens, const std::vector<int64_t>& slots) {
    std::map<int64_t, int64_t> last;
    for (size_t i = 0; i < slots.size(); ++i) {
        last[slots[i]] = static_cast<int64_t>(i);
    }
    std::vector<cuda::Move> moves;
    for (const auto& [slot, token] : last) {
        moves.push_back({slot, token});
    }
    const Buffer list = cuda::to_device(moves);
    const int64_t width = tokens.shape[1] * tokens.shape[2];
    cuda::require_on_device(cache);
    cuda::require_on_device(tokens);
    cuda::Operand to;
    cuda::Operand from;
    const Tensor* targets[] = {&cache};
    const Tensor* sources[] = {&tokens};
    const cuda::Dims cache_dims = cuda::walk(cache, targets, &to, 1);
    const cuda::Dims token_dims = cuda::walk(tokens, sources, &from, 1);
    dispatch_word(cache.dtype, [&](auto sample) {
        cuda::move<decltype(sample)>(cache_dims, to, token_dims, from, static_cast<const cuda::Move*>(list.data()),
                                     static_cast<int64_t>(moves.size()), width);
    });
}

void require_positive(const Tensor& numbers, const char* message) {
    const Input<double> values(numbers);
    const cuda::Check check(message);
    cuda::look_for_others(check.finding(), values.data(), numbers.numel);
    check.conclude();
}

void penalise(const Tensor& logits, const Penalties& penalties) {
    const auto count = static_cast<int64_t>(penalties.logit_indices.size());
    if (count == 0) {
        return;
    }
    const Input<double> presence(penalties.presence);
    const Input<double> frequency(penalties.frequency);
    const Input<double> repetition(penalties.repetition);
    const Input<Int64> counts(penalties.counts);
    const Buffer indices = cuda::to_device(penalties.logit_indices);
    const Buffer rows = cuda::to_device(penalties.rows);
    cuda::Keyed order(count);
    cuda::make_keys(order.keys(), order.indices(), static_cast<const int64_t*>(indices.data()), count);
    order.sort(cuda::bits_below(logits.numel));
    const cuda::Amounts amounts{presence.data(), frequency.data(), repetition.data(), counts.data(),
                                static_cast<const int64_t*>(rows.data())};
    cuda::require_on_device(logits);
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        cuda::penalise<T>(logits.elements<T>(), logits.strides[0], logits.strides[1], logits.shape[1], order.keys(),
                          order.indices(), count, amounts);
    });
}

}  // namespace diopigen::core::attention
