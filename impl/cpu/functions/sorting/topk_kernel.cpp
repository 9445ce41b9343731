// Topk: the first elements of each row in order, without sorting the others. Of equal elements the first are taken. The
// loops.
#include "sorting/pick.h"
#include "sorting/sorted_rows.h"
#include "sorting/sorting_kernels.h"

namespace diopigen::core {

namespace {

// Keeps the least packed keys of all that it is shown.
template <typename T>
class Selection {
  public:
    using Packer = PackedKeys<T>;
    using Word = typename Packer::Word;
    using Key = typename Packer::Key;

    Selection(int64_t limit, bool descending)
        : limit_(limit), packer_(descending), candidates_(static_cast<size_t>(2 * limit + 2 * kBlock)) {}

    // Elements [begin, end) of a row. What is shown first comes first.
    void show(const T* row, int64_t begin, int64_t end) {
        if (!is_bounded_ && limit_ <= kFew && end - begin >= kSample / 4) {
            find_bound(row + begin, std::min(end - begin, kSample));
        }
        Key keys[kBlock];
        for (int64_t i = begin; i < end; i += kBlock) {
            const int64_t count = std::min(kBlock, end - i);
            // Of equal elements the earlier ones have been retained.
            if (make_keys(packer_, keys, row + i, count) >= bound_ && is_bounded_) {
                continue;
            }
            add(keys, i, count);
            if (count_ >= 2 * limit_) {
                shrink();
            }
        }
    }
    void show(const Selection& other) {
        candidates_.resize(static_cast<size_t>(count_));
        candidates_.insert(candidates_.end(), other.candidates_.begin(), other.candidates_.begin() + other.count_);
        count_ += other.count_;
    }
    // The `limit` first in order, of no fewer that were shown.
    const Word* sorted() {
        shrink();
        sort_packed(candidates_.data(), limit_);
        return candidates_.data();
    }
    void clear() {
        count_ = 0;
        is_bounded_ = false;
    }

  private:
    static constexpr int64_t kBlock = 256;
    static constexpr int64_t kLanes = 64;
    static constexpr int64_t kFew = kLanes / 4;
    static constexpr int64_t kSample = 4096;

    // Adds what is within the bound: few elements where they are few in all, else so many that no processor foresees
    // them.
    void add(const Key* keys, int64_t first, int64_t count) {
        for (int64_t k = 0; is_selective() && k < count; ++k) {
            if (keys[k] < bound_) {
                candidates_[count_] = Packer::join(keys[k], first + k);
                ++count_;
            }
        }
        for (int64_t k = 0; !is_selective() && k < count; ++k) {
            candidates_[count_] = Packer::join(keys[k], first + k);
            count_ += !is_bounded_ || keys[k] < bound_ ? 1 : 0;
        }
    }
    bool is_selective() const { return is_bounded_ && limit_ <= kFew; }

    // Bounds by the first elements of a row: those that are the least of their lanes are elements as well, so that
    // `limit` elements are no larger than the `limit`th of them.
    void find_bound(const T* elements, int64_t count) {
        Key least[kLanes];
        make_least(packer_, least, elements, count);
        if (limit_ > 1) {
            std::nth_element(least, least + limit_ - 1, least + kLanes);
        }
        const Key last = limit_ > 1 ? least[limit_ - 1] : *std::min_element(least, least + kLanes);
        if (last != ~Key{0}) {
            bound_ = static_cast<Key>(last + 1);
            is_bounded_ = true;
        }
    }

    // The least key of each lane.
    DIOPI_CPU_CLONES static void make_least(Packer packed, Key* least, const T* elements, int64_t count) {
        Key lanes[kLanes];
        std::fill(lanes, lanes + kLanes, ~Key{0});
        for (int64_t i = 0; i + kLanes <= count; i += kLanes) {
            for (int64_t lane = 0; lane < kLanes; ++lane) {
                lanes[lane] = std::min(lanes[lane], packed.key(elements[i + lane]));
            }
        }
        std::copy(lanes, lanes + kLanes, least);
    }

    // The keys of some elements; gives the least.
    DIOPI_CPU_CLONES static Key make_keys(Packer packed, Key* keys, const T* elements, int64_t count) {
        Key least = ~Key{0};
        for (int64_t i = 0; i < count; ++i) {
            keys[i] = packed.key(elements[i]);
            least = std::min(least, keys[i]);
        }
        return least;
    }
    // Leaves the `limit` first, of which the last one bounds those to come.
    void shrink() {
        if (limit_ == 1) {
            candidates_[0] = *std::min_element(candidates_.begin(), candidates_.begin() + count_);
        } else {
            std::nth_element(candidates_.begin(), candidates_.begin() + limit_ - 1, candidates_.begin() + count_);
        }
        count_ = limit_;
        bound_ = Packer::key(candidates_[static_cast<size_t>(limit_ - 1)]);
        is_bounded_ = true;
    }

    int64_t limit_;
    Packer packer_;
    std::vector<Word> candidates_;
    int64_t count_ = 0;
    Key bound_ = 0;
    bool is_bounded_ = false;
};

template <typename T, typename Coder, typename Word>
void store_packed(const Coder& coder, T* values, Int64* indices, const Word* packed, int64_t count, const T* row) {
    for (int64_t i = 0; i < count; ++i) {
        values[i] = coder.element(packed[i], row);
        indices[i] = Int64(coder.index(packed[i]));
    }
}

// The first `limit` of `length` elements of each row.
template <typename T>
void pick_rows(T* values, Int64* indices, const T* data, int64_t rows, int64_t length, int64_t limit, bool largest) {
    constexpr int64_t kPart = 65536;
    const auto store = [&](int64_t row, const typename PackedKeys<T>::Word* packed) {
        store_packed(PackedKeys<T>(largest), values + row * limit, indices + row * limit, packed, limit,
                     data + row * length);
    };
    if (rows >= thread_count() || length < 2 * kPart) {
        parallel_for(rows, row_grain(2 * length), [&](int64_t begin, int64_t end) {
            Selection<T> selection(limit, largest);
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
        std::vector<Selection<T>> selections(static_cast<size_t>(parts), Selection<T>(limit, largest));
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

void pick_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  int64_t limit, bool largest) {
    dispatch_compute<kNumber>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(input);
        const Output<T> picked(values);
        const Output<Int64> indices(indices_tensor);
        if (8 * limit < rows.length) {
            pick_rows(picked.data(), indices.data(), source.data(), rows.count, rows.length, limit, largest);
        } else {
            sort_rows(source.data(), rows.count, rows.length, largest,
                      [&](const auto& coder, int64_t row, int64_t first, const auto* packed, int64_t count) {
                          if (first < limit) {
                              const int64_t at = row * limit + first;
                              store_packed(coder, picked.data() + at, indices.data() + at, packed,
                                           std::min(count, limit - first), source.data() + row * rows.length);
                          }
                      });
        }
        picked.store();
        indices.store();
    });
}

}  // namespace diopigen::core
