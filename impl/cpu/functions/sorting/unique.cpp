// Unique: distinct elements or slices. Both come sorted in any case, NaN above all numbers and each NaN on its own; of
// equal ones (zeros of both signs) the first is taken.
#include <diopi/functions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"
#include "sorted_rows.h"

using namespace diopi::cpu;

namespace {

template <typename T>
bool is_below(T a, T b) {
    return a < b || (isnan(b) && !isnan(a));
}

// Slices of equal length, side by side, compared element by element.
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

// Elements: the groups follow from the words in order, without a look at the elements.
template <typename T>
Groups groups_of_elements(const T* elements, int64_t count, bool wants_groups) {
    Groups groups;
    require_countable(count);
    if (count == 0) {
        return groups;
    }
    groups.group_of.resize(static_cast<size_t>(wants_groups ? count : 0));
    with_words(elements, count, false, [&](const auto& coder) {
        using Word = typename std::decay_t<decltype(coder)>::Word;
        Buffer memory;
        memory.allocate(count * static_cast<int64_t>(sizeof(Word)));
        Word* words = static_cast<Word*>(memory.data());
        parallel_for(count, 16384,
                     [&](int64_t begin, int64_t end) { coder.make(words + begin, elements, begin, end - begin); });
        sort_words_together(words, count);
        int64_t first = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (i == 0 || !coder.is_same(words[i - 1], words[i])) {
                if (i > 0) {
                    groups.counts.push_back(Int64(i - first));
                }
                groups.firsts.push_back(coder.place(words[i]));
                first = i;
            }
            if (wants_groups) {
                groups.group_of[coder.place(words[i])] = Int64(static_cast<int64_t>(groups.firsts.size()) - 1);
            }
        }
        groups.counts.push_back(Int64(count - first));
    });
    return groups;
}

template <typename T>
Groups groups_of(const Slices<T>& slices, int64_t count, bool wants_groups) {
    if (slices.length == 1) {
        return groups_of_elements(slices.elements, count, wants_groups);
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

// The slices along one dimension, or the elements where there is none.
struct Cut {
    std::vector<int64_t> order;      // of the dimensions of input, the cut one first
    std::vector<int64_t> out_order;  // the same for out
    std::vector<int64_t> positions;  // the shape that `indices` has
    std::vector<int64_t> shape;      // the shape of a slice of out
    int64_t count = 1;
    int64_t length = 1;
};

Cut cut_of(const Tensor& input, const int64_t* dim) {
    Cut cut;
    cut.order.resize(static_cast<size_t>(input.rank));
    std::iota(cut.order.begin(), cut.order.end(), 0);
    cut.count = input.numel;
    cut.positions = dim == nullptr ? shape_of(input) : std::vector<int64_t>{input.numel};
    cut.out_order = {0};
    if (dim == nullptr) {
        return cut;
    }
    const int64_t at = dimension("dim", *dim, input.rank);
    if (input.rank == 0) {
        return cut;
    }
    std::rotate(cut.order.begin(), cut.order.begin() + at, cut.order.begin() + at + 1);
    cut.out_order = cut.order;
    cut.count = input.shape[at];
    cut.positions = {cut.count};
    for (size_t k = 1; k < cut.order.size(); ++k) {
        cut.shape.push_back(input.shape[cut.order[k]]);
        cut.length *= cut.shape.back();
    }
    require(cut.length > 0, "parameter 'input' is empty in a dimension other than 'dim'");
    return cut;
}

void store(const Tensor& to, const std::vector<Int64>& from) {
    const Output<Int64> target(to);
    std::copy(from.begin(), from.end(), target.data());
    target.store();
}

}  // namespace

DIOPI_API diopiError_t diopiUnique(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                                   const int64_t* dim, bool /*sorted: they are in any case*/, bool return_counts,
                                   diopiTensorHandle_t indices, diopiTensorHandle_t* counts) {
    return guarded("diopiUnique", [&] {
        require(out != nullptr, "parameter 'out' is null");
        require(!return_counts || counts != nullptr, "parameter 'counts' is null, although return_counts is true");
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const Tensor indices_tensor = optional_tensor("indices", indices, kIndex);
        const Cut cut = cut_of(input_tensor, dim);
        if (!indices_tensor.is_null()) {
            require_shape(indices_tensor, cut.positions);
            require_one_device({&indices_tensor, &input_tensor});
            require_no_overlap(indices_tensor);
            require_disjoint(indices_tensor, input_tensor);
        }
        const View view = permuted(input_tensor, cut.order);
        dispatch_compute<kNumber | kBool>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> elements(view.tensor());
            const Groups groups =
                groups_of(Slices<T>{elements.data(), cut.length}, cut.count, !indices_tensor.is_null());
            const auto found = static_cast<int64_t>(groups.firsts.size());
            std::vector<int64_t> shape(cut.out_order.size(), found);
            for (size_t k = 0; k < cut.shape.size(); ++k) {
                shape[cut.out_order[k + 1]] = cut.shape[k];
            }
            const Tensor result = new_tensor(ctx, "out", shape, input_tensor.dtype, input_tensor);
            const Tensor sizes =
                return_counts ? new_tensor(ctx, "counts", {found}, Dtype::kInt64, input_tensor) : Tensor{};
            const View target = permuted(result, cut.out_order);
            const Output<T> distinct(target.tensor());
            for (int64_t i = 0; i < found; ++i) {
                std::copy_n(elements.data() + groups.firsts[i] * cut.length, cut.length,
                            distinct.data() + i * cut.length);
            }
            distinct.store();
            if (!indices_tensor.is_null()) {
                store(indices_tensor, groups.group_of);
            }
            *out = result.handle;
            if (return_counts) {
                store(sizes, groups.counts);
                *counts = sizes.handle;
            }
        });
    });
}
