// BanBadWords and StopWordsCriterion: a thread to a sequence.
#include <limits>

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/check.h"
#include "diopi_cuda/operand.h"
#include "serving.h"
#include "serving/phrases.h"

namespace diopigen::cuda {

namespace {

using core::serving::History;
using core::serving::Phrases;

void check_phrases(const Int64* lists, int64_t count, int64_t columns, const char* message) {
    const Check check(message);
    const Finding found = check.finding();
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!Phrases::of(lists, i, columns).is_valid()) {
            found();
        }
    });
    check.conclude();
}

struct Tokens {
    const Int64* ids;
    int64_t sequences;
    int64_t offset;
    int64_t length;

    DIOPI_DEVICE History of(int64_t sequence) const { return {ids + offset + sequence, sequences, length}; }
};

// Phrases of a sequence that end in the same token write the same.
template <typename T>
void ban(T* logits, int64_t row_stride, int64_t token_stride, int64_t batch, int64_t vocabulary, const Int64* lists,
         bool is_shared, int64_t columns, const Tokens& tokens) {
    const T banned = core::cast<T>(-std::numeric_limits<double>::infinity());
    for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
        const Phrases phrases = Phrases::of(lists, is_shared ? 0 : b, columns);
        for (int64_t word = 0; phrases.has(word); ++word) {
            const int64_t last = phrases.end(word) - 1;
            const int64_t token = phrases.tokens[last].value;
            const bool is_token = token > 0 && token < vocabulary;
            if (is_token && tokens.of(b).ends_with(phrases.tokens + phrases.begin(word), last - phrases.begin(word))) {
                logits[b * row_stride + token * token_stride] = banned;
            }
        }
    });
}

void stop(Bool* finished, int64_t batch, const Int64* lists, int64_t columns, const Tokens& tokens) {
    for_each(batch, [=] DIOPI_KERNEL(int64_t b) {
        const Phrases phrases = Phrases::of(lists, b, columns);
        for (int64_t word = 0; phrases.has(word); ++word) {
            if (tokens.of(b).ends_with(phrases.tokens + phrases.begin(word), phrases.end(word) - phrases.begin(word))) {
                finished[b] = Bool(true);
            }
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

void diopigen::entry::ban_bad_words_inp(const BanBadWordsInpArgs& args) {
    using namespace diopigen::cuda;
    const Tensor& logits = args.logits;
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lists(args.bad_words);
    check_phrases(lists.data(), args.share_words ? 1 : args.batch_size, args.bad_words_len,
                  "C2: each word of bad_words ends behind the one before it and within bad_words_len");
    const Tokens tokens{ids.data(), args.output_ids.shape[1], args.id_offset, args.step};
    require_on_device(logits);
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        ban<T>(logits.elements<T>(), logits.strides[0], logits.strides[1], args.batch_size, args.vocab_size,
               lists.data(), args.share_words, args.bad_words_len, tokens);
    });
}

void diopigen::entry::stop_words_criterion(const StopWordsCriterionArgs& args) {
    using namespace diopigen::cuda;
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lists(args.stop_words);
    check_phrases(lists.data(), args.batch_size, args.stop_words_len,
                  "C1: each word of stop_words ends behind the one before it and within stop_words_len");
    const Changed finished(args.finished, Dtype::kBool);
    stop(finished.as<Bool>(), args.batch_size, lists.data(), args.stop_words_len,
         {ids.data(), args.output_ids.shape[1], args.id_offset, args.step + 1});
    finished.store();
}
