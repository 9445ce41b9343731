// BanBadWords and StopWordsCriterion: words that the latest tokens of a sequence complete.
#include "serving/phrases.h"

#include <limits>

#include "diopi_core/arguments.h"
#include "serving.h"

using namespace diopigen::core;
using namespace diopigen::core::serving;

namespace {

void require_phrases(const Int64* lists, int64_t count, int64_t columns, const char* message) {
    for (int64_t i = 0; i < count; ++i) {
        require(Phrases::of(lists, i, columns).is_valid(), message);
    }
}

}  // namespace

void diopigen::entry::ban_bad_words_inp(const BanBadWordsInpArgs& args) {
    const Tensor& logits = args.logits;
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lists(args.bad_words);
    const int64_t sequences = args.output_ids.shape[1];
    require_phrases(lists.data(), args.share_words ? 1 : args.batch_size, args.bad_words_len,
                    "C2: each word of bad_words ends behind the one before it and within bad_words_len");
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        const T banned = cast<T>(-std::numeric_limits<double>::infinity());
        parallel_for(args.batch_size, row_grain(args.bad_words_len), [&](int64_t begin, int64_t end) {
            for (int64_t b = begin; b < end; ++b) {
                const Phrases phrases = Phrases::of(lists.data(), args.share_words ? 0 : b, args.bad_words_len);
                const History history{ids.data() + args.id_offset + b, sequences, args.step};
                for (int64_t word = 0; phrases.has(word); ++word) {
                    const int64_t last = phrases.end(word) - 1;
                    const int64_t token = phrases.tokens[last].value;
                    const bool is_token = token > 0 && token < args.vocab_size;
                    if (is_token &&
                        history.ends_with(phrases.tokens + phrases.begin(word), last - phrases.begin(word))) {
                        logits.elements<T>()[b * logits.strides[0] + token * logits.strides[1]] = banned;
                    }
                }
            }
        });
    });
}

void diopigen::entry::stop_words_criterion(const StopWordsCriterionArgs& args) {
    const Input<Int64> ids(args.output_ids);
    const Input<Int64> lists(args.stop_words);
    const int64_t sequences = args.output_ids.shape[1];
    require_phrases(lists.data(), args.batch_size, args.stop_words_len,
                    "C1: each word of stop_words ends behind the one before it and within stop_words_len");
    const Changed finished(args.finished, Dtype::kBool);
    parallel_for(args.batch_size, row_grain(args.stop_words_len), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            const Phrases phrases = Phrases::of(lists.data(), b, args.stop_words_len);
            const History history{ids.data() + args.id_offset + b, sequences, args.step + 1};
            for (int64_t word = 0; phrases.has(word); ++word) {
                if (history.ends_with(phrases.tokens + phrases.begin(word), phrases.end(word) - phrases.begin(word))) {
                    finished.as<Bool>()[b] = Bool(true);
                }
            }
        }
    });
    finished.store();
}
