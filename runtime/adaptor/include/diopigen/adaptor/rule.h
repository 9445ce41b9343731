// What a shim demands of one tensor, as a constant table that the generator writes and the compiler evaluates.
#ifndef DIOPIGEN_ADAPTOR_RULE_H_
#define DIOPIGEN_ADAPTOR_RULE_H_

#include <diopi/diopirt.h>

#include <cstdint>

// Everything of the adaptor core has internal linkage: the shims of two vendors in one process share nothing.
namespace diopigen {
namespace adaptor {
namespace {

constexpr int kDtypeCount = 32;  // the bits of `casts`: more dtypes than any version of the header has

// Ranks that a rule tells apart: 0 to 5, and one entry for all above.
constexpr int kRankCount = 7;

// The formats that a rank may have. No bit at all: the strides are left as they are.
enum Layout : std::uint8_t {
    kRowMajor = 1,
    kChannelsLast = 2,
    // Both are allowed, and what has neither becomes channels-last.
    kRatherChannelsLast = 4,
};

struct Rule {
    std::uint32_t casts = 0;                // bit per dtype: the operator cannot take it
    std::uint8_t target[kDtypeCount] = {};  // what it gets instead, where the bit is set
    std::uint8_t layouts[kRankCount] = {};  // Layout bits by rank
    bool demands_layout = false;            // whether any entry of `layouts` is set
    std::uint8_t most_dimensions = 0;       // 0: any number
    std::uint16_t alignment = 1;            // bytes that the first element is at a multiple of

    constexpr bool converts(diopiDtype_t dtype) const {
        return static_cast<unsigned>(dtype) < kDtypeCount && ((casts >> dtype) & 1U) != 0;
    }
    constexpr diopiDtype_t target_of(diopiDtype_t dtype) const {
        return converts(dtype) ? static_cast<diopiDtype_t>(target[dtype]) : dtype;
    }
    constexpr std::uint8_t layouts_of(std::int64_t rank) const {
        return layouts[rank < kRankCount - 1 ? rank : kRankCount - 1];
    }

    // Whether an operator on the chip can take a tensor of so many dimensions at all.
    constexpr bool admits_rank(std::int64_t rank) const { return most_dimensions == 0 || rank <= most_dimensions; }
    bool is_aligned(const void* data) const { return reinterpret_cast<std::uintptr_t>(data) % alignment == 0; }

    // The words that tables are written with.
    constexpr Rule cast(diopiDtype_t from, diopiDtype_t to) const {
        Rule rule = *this;
        rule.casts |= 1U << from;
        rule.target[from] = static_cast<std::uint8_t>(to);
        return rule;
    }
    constexpr Rule layout(int rank, int formats) const {
        Rule rule = *this;
        rule.layouts[rank] = static_cast<std::uint8_t>(formats);
        rule.demands_layout = true;
        return rule;
    }
    constexpr Rule up_to(int dimensions) const {
        Rule rule = *this;
        rule.most_dimensions = static_cast<std::uint8_t>(dimensions);
        return rule;
    }
    constexpr Rule aligned(int bytes) const {
        Rule rule = *this;
        rule.alignment = static_cast<std::uint16_t>(bytes);
        return rule;
    }
    constexpr Rule every_rank(int formats) const {
        Rule rule = *this;
        for (int rank = 0; rank < kRankCount; ++rank) {
            rule.layouts[rank] = static_cast<std::uint8_t>(formats);
        }
        rule.demands_layout = true;
        return rule;
    }
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_RULE_H_
