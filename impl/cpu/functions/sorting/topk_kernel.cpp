// Topk: the first elements of each row in order, without sorting the others. Of equal elements the first are taken. The
// loops.
#include "sorting/kernels.h"
#include "sorting/pick.h"
#include "sorting/sorted_rows.h"

namespace diopi::core {

namespace {

// Keeps the least words of all that it is shown.
template <typename T>
class Selection {
  public:
    using Words = OrderWords<T>;
    using Word = typename Words::Word;
    using Key = typename Words::Key;

    Selection(int64_t wanted, bool descending)
        : wanted_(wanted), words_(descending), kept_(static_cast<size_t>(2 * wanted + 2 * kBlock)) {}

    // Elements [begin, end) of a row. What is shown first comes first.
    void show(const T* row, int64_t begin, int64_t end) {
        Key keys[kBlock];
        for (int64_t i = begin; i < end; i += kBlock) {
            const int64_t count = std::min(kBlock, end - i);
            // Of equal elements the ones in front have been kept.
            if (make_keys(words_, keys, row + i, count) >= bound_ && is_bounded_) {
                continue;
            }
            for (int64_t k = 0; k < count; ++k) {
                kept_[count_] = Words::join(keys[k], i + k);
                count_ += !is_bounded_ || keys[k] < bound_ ? 1 : 0;
            }
            if (count_ >= 2 * wanted_) {
                shrink();
            }
        }
    }
    void show(const Selection& other) {
        kept_.resize(static_cast<size_t>(count_));
        kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.begin() + other.count_);
        count_ += other.count_;
    }
    // The wanted words in order, of no fewer that were shown.
    const Word* sorted() {
        shrink();
        sort_words(kept_.data(), wanted_);
        return kept_.data();
    }
    void clear() {
        count_ = 0;
        is_bounded_ = false;
    }

  private:
    static constexpr int64_t kBlock = 256;

    // The keys of some elements; gives the least.
    DIOPI_CPU_CLONES static Key make_keys(Words words, Key* keys, const T* elements, int64_t count) {
        Key least = ~Key{0};
        for (int64_t i = 0; i < count; ++i) {
            keys[i] = words.key(elements[i]);
            least = std::min(least, keys[i]);
        }
        return least;
    }
    // Leaves the wanted words, of which the last one bounds those to come.
    void shrink() {
        if (wanted_ == 1) {
            kept_[0] = *std::min_element(kept_.begin(), kept_.begin() + count_);
        } else {
            std::nth_element(kept_.begin(), kept_.begin() + wanted_ - 1, kept_.begin() + count_);
        }
        count_ = wanted_;
        bound_ = Words::key(kept_[static_cast<size_t>(wanted_ - 1)]);
        is_bounded_ = true;
    }

    int64_t wanted_;
    Words words_;
    std::vector<Word> kept_;
    int64_t count_ = 0;
    Key bound_ = 0;
    bool is_bounded_ = false;
};

template <typename T, typename Coder, typename Word>
void store_words(const Coder& coder, T* values, Int64* places, const Word* words, int64_t count, const T* row) {
    for (int64_t i = 0; i < count; ++i) {
        values[i] = coder.element(words[i], row);
        places[i] = Int64(coder.place(words[i]));
    }
}

// The first `wanted` of `length` elements of each row.
template <typename T>
void pick_rows(T* values, Int64* places, const T* data, int64_t rows, int64_t length, int64_t wanted, bool largest) {
    constexpr int64_t kPart = 65536;
    const auto store = [&](int64_t row, const typename OrderWords<T>::Word* words) {
        store_words(OrderWords<T>(largest), values + row * wanted, places + row * wanted, words, wanted,
                    data + row * length);
    };
    if (rows >= thread_count() || length < 2 * kPart) {
        parallel_for(rows, row_grain(2 * length), [&](int64_t begin, int64_t end) {
            Selection<T> selection(wanted, largest);
            for (int64_t row = begin; row < end; ++row) {
                selection.clear();
                selection.show(data + row * length, 0, length);
                store(row, selection.sorted());
            }
        });
        return;
    }
    const int64_t parts = std::min<int64_t>(thread_count(), length / kPart);
    for (int64_t row = 0; row < rows; ++row) {
        std::vector<Selection<T>> selections(static_cast<size_t>(parts), Selection<T>(wanted, largest));
        parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
            for (int64_t part = begin; part < end; ++part) {
                selections[part].show(data + row * length, length * part / parts, length * (part + 1) / parts);
            }
        });
        for (int64_t part = 1; part < parts; ++part) {
            selections[0].show(selections[part]);
        }
        store(row, selections[0].sorted());
    }
}

}  // namespace

void pick_rows_of(const Tensor& values, const Tensor& places_tensor, const Tensor& input, const Rows& rows,
                  int64_t wanted, bool largest) {
    dispatch_compute<kNumber>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(input);
        const Output<T> picked(values);
        const Output<Int64> places(places_tensor);
        if (8 * wanted < rows.length) {
            pick_rows(picked.data(), places.data(), source.data(), rows.count, rows.length, wanted, largest);
        } else {
            sort_rows(source.data(), rows.count, rows.length, largest,
                      [&](const auto& coder, int64_t row, int64_t first, const auto* words, int64_t count) {
                          if (first < wanted) {
                              const int64_t at = row * wanted + first;
                              store_words(coder, picked.data() + at, places.data() + at, words,
                                          std::min(count, wanted - first), source.data() + row * rows.length);
                          }
                      });
        }
        picked.store();
        places.store();
    });
}

}  // namespace diopi::core
