#include <diopigen_kernels/chip.h>
#include <diopigen_kernels/describe.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace diopigen::kernels {
namespace {

/// A layout: its rank, and whether the channels (dimension 1) come last in memory.
struct LayoutFacts {
    uint32_t bit;
    const char* name;
    std::size_t rank;
    bool channels_last;
};

constexpr LayoutFacts kLayouts[] = {
    {NCL, "NCL", 3, false},  {NLC, "NLC", 3, true},      {NCHW, "NCHW", 4, false},
    {NHWC, "NHWC", 4, true}, {NCDHW, "NCDHW", 5, false}, {NDHWC, "NDHWC", 5, true},
};

std::string layout_names(uint32_t mask) {
    std::string names;
    for (const LayoutFacts& layout : kLayouts) {
        if ((mask & layout.bit) != 0) {
            names += (names.empty() ? "" : ", ") + std::string(layout.name);
        }
    }
    return names;
}

/// Whether a tensor without gaps is in this order; where there is one element at most along a dimension, its stride
/// does not matter.
bool fits(const Buffer& buffer, bool channels_last) {
    const std::size_t rank = buffer.shape.size();
    int64_t expected = 1;
    const auto dense = [&](std::size_t own) {
        const auto found = std::find(buffer.order.begin(), buffer.order.end(), static_cast<int64_t>(own));
        const std::size_t dim = buffer.order.empty() ? own : static_cast<std::size_t>(found - buffer.order.begin());
        const bool good = buffer.shape[dim] <= 1 || buffer.stride[dim] == expected;
        expected *= buffer.shape[dim];
        return good;
    };
    if (std::count(buffer.shape.begin(), buffer.shape.end(), 0) > 0) {
        return true;
    }
    bool good = !channels_last || dense(1);
    for (std::size_t dim = rank; dim-- > 0;) {
        good = good && ((channels_last && dim == 1) || dense(dim));
    }
    return good;
}

/// Whether one of the layouts that are about the rank of the tensor, if there are such, is the tensor's.
bool fits_one_of(const Buffer& buffer, uint32_t layouts) {
    if (layouts == 0 || (layouts & ND) != 0) {
        return true;
    }
    bool is_restricted = false;
    for (const LayoutFacts& layout : kLayouts) {
        if ((layouts & layout.bit) != 0 && layout.rank == buffer.shape.size()) {
            if (fits(buffer, layout.channels_last)) {
                return true;
            }
            is_restricted = true;
        }
    }
    return !is_restricted;
}

/// What an operator takes: its own limits, and those of the chip where it has none.
struct Limits {
    Limits(const Chip& chip, const NativeOperator& native)
        : dtypes(native.dtypes != 0 ? native.dtypes : chip.dtypes),
          layouts(native.layouts),
          maxRank(static_cast<std::size_t>(native.maxRank != 0 ? native.maxRank : chip.maxRank)),
          alignment(native.alignment != 0 ? native.alignment : chip.alignment) {}

    uint32_t dtypes, layouts;
    std::size_t maxRank;
    uint64_t alignment;

    bool take_dtype(const Buffer& buffer) const { return !buffer.isTensor || (dtypes & bitOf(buffer.dtype)) != 0; }
    /// Bytes that the start of a buffer is behind a multiple of the alignment.
    uint64_t misalignment(const Buffer& buffer) const {
        return buffer.bytes > 0 && alignment > 1 ? reinterpret_cast<uintptr_t>(buffer.pointer) % alignment : 0;
    }
    bool take_form(const Buffer& buffer) const {
        const std::size_t rank = buffer.shape.size();
        return !buffer.isTensor || (buffer.stride.size() == rank && rank <= maxRank && fits_one_of(buffer, layouts));
    }
};

/// What is wrong with a buffer that the limits do not take.
std::string objection(const Limits& limits, const Buffer& buffer) {
    if (!limits.take_dtype(buffer)) {
        return std::string("is ") + dtype_name(buffer.dtype) + "; it takes " + dtypeNames(limits.dtypes);
    }
    if (const uint64_t behind = limits.misalignment(buffer); behind != 0) {
        return "starts " + std::to_string(behind) + " bytes behind a multiple of " + std::to_string(limits.alignment);
    }
    const std::size_t rank = buffer.shape.size();
    if (buffer.stride.size() != rank) {
        return "has " + std::to_string(rank) + " sizes and " + std::to_string(buffer.stride.size()) + " strides";
    }
    if (rank > limits.maxRank) {
        return "has " + std::to_string(rank) + " dimensions; it takes at most " + std::to_string(limits.maxRank);
    }
    return "has shape " + describe(buffer.shape) + " and strides " + describe(buffer.stride) + "; it takes " +
           layout_names(limits.layouts);
}

std::string_view without_part(const char* name) {
    const std::string_view full(name);
    return full.substr(0, full.find('/'));
}

/// Whether `name`, without the part behind a slash, is that of the operator.
bool is_named(const NativeOperator& native, const char* name) {
    const char* own = native.name;
    while (*own != '\0' && *own == *name) {
        ++own;
        ++name;
    }
    return *own == '\0' && (*name == '\0' || *name == '/');
}

}  // namespace

const NativeOperator* findOperator(const Chip& chip, const char* name) {
    constexpr std::size_t kRecent = 64;
    // What was found last, by the address of the name: launches name operators by literals. Not thread_local: the block
    // of a library that is loaded at run time is small.
    static std::atomic<const NativeOperator*> recent[kRecent];
    std::atomic<const NativeOperator*>& entry = recent[reinterpret_cast<uintptr_t>(name) / 8 % kRecent];
    const NativeOperator* const slot = entry.load(std::memory_order_relaxed);
    const NativeOperator* const end = chip.operators + chip.operatorCount;
    const bool is_of_chip = std::less_equal<>()(chip.operators, slot) && std::less<>()(slot, end);
    if (is_of_chip && is_named(*slot, name)) {
        return slot;
    }
    const std::string_view expected = without_part(name);
    const auto is_before = [](const NativeOperator& one, std::string_view other) { return one.name < other; };
    const NativeOperator* const found = std::lower_bound(chip.operators, end, expected, is_before);
    if (found == end || expected != found->name) {
        return nullptr;
    }
    entry.store(found, std::memory_order_relaxed);
    return found;
}

Status admits(const Chip& chip, const char* name, const Buffer* buffers, std::size_t count) {
    static constexpr NativeOperator kAny{"", 0, 0, 0};
    const NativeOperator* const native = chip.operatorCount == 0 ? &kAny : findOperator(chip, name);
    if (native == nullptr) {
        return {Code::unsupported, std::string(without_part(name)) + " is no native operator of " + chip.name};
    }
    const Limits limits(chip, *native);
    for (std::size_t i = 0; i < count; ++i) {
        const bool takes_dtype = limits.take_dtype(buffers[i]);
        if (!takes_dtype || limits.misalignment(buffers[i]) != 0 || !limits.take_form(buffers[i])) {
            return {takes_dtype ? Code::unsupported : Code::unsupportedDtype, std::string(name) + " on " + chip.name +
                                                                                  ": buffer " + std::to_string(i) +
                                                                                  " " + objection(limits, buffers[i])};
        }
    }
    return {};
}

}  // namespace diopigen::kernels
