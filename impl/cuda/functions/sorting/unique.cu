// Groups of equal slices: slices are sorted by their last elements, then by those before, and so on, which leaves them
// in the order of all; equal ones are then adjacent, the first of them first.
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "key_range.h"
#include "sorting/distinct.h"

namespace diopigen::cuda {

namespace {

void number(int64_t* indices, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { indices[i] = i; });
}

template <typename T>
void make_keys(uint64_t* keys, const int64_t* indices, const T* elements, int64_t count, int64_t length, int64_t at,
               const KeyRange& range) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { keys[i] = range.key_of(elements[indices[i] * length + at]); });
}

// 1 where a group begins. One more mark than there are slices, so that the last sum is that of all.
template <typename T>
void mark_firsts(int64_t* marks, const int64_t* indices, const T* elements, int64_t count, int64_t length) {
    for_each(count + 1, [=] DIOPI_KERNEL(int64_t i) {
        bool is_first = i == 0 && count > 0;
        for (int64_t k = 0; k < length && i > 0 && i < count && !is_first; ++k) {
            is_first = !(elements[indices[i - 1] * length + k] == elements[indices[i] * length + k]);
        }
        marks[i] = is_first ? 1 : 0;
    });
}

// `before[i]` groups begin before slice i of the order. Where each group starts in the order, and its end after the
// last.
void list_starts(int64_t* starts, const int64_t* before, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (before[i + 1] > before[i]) {
            starts[before[i]] = i;
        }
        if (i == count - 1) {
            starts[before[count]] = count;
        }
    });
}

template <typename W>
void take_firsts(W* to, const W* from, const int64_t* starts, const int64_t* indices, int64_t count, int64_t length) {
    for_each(count * length,
             [=] DIOPI_KERNEL(int64_t i) { to[i] = from[indices[starts[i / length]] * length + i % length]; });
}

void list_groups(Int64* groups, const int64_t* before, const int64_t* indices, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { groups[indices[i]] = Int64(before[i + 1] - 1); });
}

void list_sizes(Int64* sizes, const int64_t* starts, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { sizes[i] = Int64(starts[i + 1] - starts[i]); });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

struct Distinct::Found {
    int64_t slices;
    int64_t length;
    cuda::Keyed order;
    Buffer before;
    Buffer starts;
    int64_t count = 0;

    Found(int64_t slices, int64_t length) : slices(slices), length(length), order(slices) {}
};

Distinct::Distinct(const Tensor& slices, int64_t count, int64_t length, bool /*needs_groups*/)
    : found_(new Found(count, length)) {
    constexpr int64_t kBytes = sizeof(int64_t);
    cuda::Keyed& order = found_->order;
    found_->before.allocate((count + 1) * kBytes);
    auto* const before = static_cast<int64_t*>(found_->before.data());
    cuda::number(order.indices(), count);
    cuda::dispatch_keyed(slices.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> elements(slices);
        const cuda::KeyRange range(slices.dtype);
        for (int64_t at = length; at-- > 0;) {
            cuda::make_keys<T>(order.keys(), order.indices(), elements.data(), count, length, at, range);
            order.sort(range.bits);
        }
        cuda::mark_firsts<T>(before, order.indices(), elements.data(), count, length);
    });
    cuda::sum_before_each(before, before, count + 1);
    cuda::read_back(&found_->count, before + count, sizeof found_->count);
    found_->starts.allocate((found_->count + 1) * kBytes);
    cuda::list_starts(static_cast<int64_t*>(found_->starts.data()), before, count);
}

Distinct::~Distinct() = default;

int64_t Distinct::count() const { return found_->count; }

void Distinct::store_slices(const Tensor& to, const Tensor& slices) const {
    dispatch_word(to.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(slices);
        const RawOutput target(to);
        cuda::take_firsts<W>(target.as<W>(), source.as<W>(), static_cast<const int64_t*>(found_->starts.data()),
                             found_->order.indices(), found_->count, found_->length);
        target.store();
    });
}

void Distinct::store_groups(const Tensor& to) const {
    const Output<Int64> groups(to);
    cuda::list_groups(groups.data(), static_cast<const int64_t*>(found_->before.data()), found_->order.indices(),
                      found_->slices);
    groups.store();
}

void Distinct::store_sizes(const Tensor& to) const {
    const Output<Int64> sizes(to);
    cuda::list_sizes(sizes.data(), static_cast<const int64_t*>(found_->starts.data()), found_->count);
    sizes.store();
}

}  // namespace diopigen::core
