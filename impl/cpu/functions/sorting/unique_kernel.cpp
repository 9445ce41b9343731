#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "sorting/distinct.h"
#include "sorting/sorted_rows.h"

namespace diopigen::core {

namespace {

template <typename T>
bool is_below(T a, T b) {
    return a < b || (isnan(b) && !isnan(a));
}

// Contiguous slices of equal length, compared element by element.
template <typename T>
struct Slices {
    const T* elements;
    int64_t length;

    bool is_before(int64_t a, int64_t b) const {
        for (int64_t i = 0; i < length; ++i) {
            const T left = elements[a * length + i];
            const T right = elements[b * length + i];
            if (is_below(left, right)) {
                return true;
            }
            if (is_below(right, left)) {
                return false;
            }
        }
        return false;
    }
    bool is_equal(int64_t a, int64_t b) const {
        return std::equal(elements + a * length, elements + (a + 1) * length, elements + b * length);
    }
};

// What is found: the first of each group of equal slices, the group of each slice, and the sizes of the groups.
struct Groups {
    std::vector<int64_t> firsts;
    std::vector<Int64> group_of;
    std::vector<Int64> counts;
};

// Elements: the groups follow from the packed keys in order, without a look at the elements.
template <typename T>
Groups groups_of_elements(const T* elements, int64_t count, bool needs_groups) {
    Groups groups;
    require_countable(count);
    if (count == 0) {
        return groups;
    }
    groups.group_of.resize(static_cast<size_t>(needs_groups ? count : 0));
    with_packing(elements, count, false, [&](const auto& coder) {
        using Word = typename std::decay_t<decltype(coder)>::Word;
        Buffer memory;
        memory.allocate(count * static_cast<int64_t>(sizeof(Word)));
        Word* packed = static_cast<Word*>(memory.data());
        parallel_for(count, 16384,
                     [&](int64_t begin, int64_t end) { coder.make(packed + begin, elements, begin, end - begin); });
        sort_packed_in_parallel(packed, count);
        int64_t first = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (i == 0 || !coder.is_same(packed[i - 1], packed[i])) {
                if (i > 0) {
                    groups.counts.push_back(Int64(i - first));
                }
                groups.firsts.push_back(coder.index(packed[i]));
                first = i;
            }
            if (needs_groups) {
                groups.group_of[coder.index(packed[i])] = Int64(static_cast<int64_t>(groups.firsts.size()) - 1);
            }
        }
        groups.counts.push_back(Int64(count - first));
    });
    return groups;
}

template <typename T>
Groups groups_of(const Slices<T>& slices, int64_t count, bool needs_groups) {
    if (slices.length == 1) {
        return groups_of_elements(slices.elements, count, needs_groups);
    }
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slices.is_before(a, b); });
    Groups groups;
    groups.group_of.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || !slices.is_equal(order[i - 1], order[i])) {
            groups.firsts.push_back(order[i]);
            groups.counts.push_back(Int64(0));
        }
        groups.group_of[order[i]] = Int64(static_cast<int64_t>(groups.firsts.size()) - 1);
        groups.counts.back() = groups.counts.back() + Int64(1);
    }
    return groups;
}

void store(const Tensor& to, const std::vector<Int64>& from) {
    const Output<Int64> target(to);
    std::copy(from.begin(), from.end(), target.data());
    target.store();
}

}  // namespace

struct Distinct::Found {
    Groups groups;
    int64_t length;
};

Distinct::Distinct(const Tensor& slices, int64_t count, int64_t length, bool needs_groups)
    : found_(new Found{{}, length}) {
    dispatch_compute<kNumber | kBool>(slices.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> elements(slices);
        found_->groups = groups_of(Slices<T>{elements.data(), length}, count, needs_groups);
    });
}

Distinct::~Distinct() = default;

int64_t Distinct::count() const { return static_cast<int64_t>(found_->groups.firsts.size()); }

void Distinct::store_slices(const Tensor& to, const Tensor& slices) const {
    const int64_t length = found_->length;
    dispatch_word(to.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(slices);
        const RawOutput target(to);
        for (int64_t i = 0; i < count(); ++i) {
            std::copy_n(source.as<W>() + found_->groups.firsts[i] * length, length, target.as<W>() + i * length);
        }
        target.store();
    });
}

void Distinct::store_groups(const Tensor& to) const { store(to, found_->groups.group_of); }

void Distinct::store_sizes(const Tensor& to) const { store(to, found_->groups.counts); }

}  // namespace diopigen::core
