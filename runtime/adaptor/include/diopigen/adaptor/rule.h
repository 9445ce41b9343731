// What a shim demands of one tensor, as a constant table that the generator writes and the compiler evaluates.
#ifndef DIOPIGEN_ADAPTOR_RULE_H_
#define DIOPIGEN_ADAPTOR_RULE_H_

#include <diopi/diopirt.h>

#include <cstdint>

// Everything of the adaptor core has internal linkage: the shims of two vendors in one process share nothing.
namespace diopigen {
namespace adaptor {
namespace {

constexpr int dtypeCount = 32;  // the bits of `casts`: more dtypes than any version of the header has

// Ranks that a rule tells apart: 0 to 5, and one entry for all above.
constexpr int rankCount = 7;

// The formats that a rank may have. No bit at all: the strides are left as they are.
enum Layout : std::uint8_t {
    rowMajor = 1,
    channelsLast = 2,
    // Both are allowed, and what has neither becomes channels-last.
    ratherChannelsLast = 4,
};

struct Rule {
    std::uint32_t casts = 0;               // bit per dtype: the operator cannot take it
    std::uint8_t target[dtypeCount] = {};  // what it gets instead, where the bit is set
    std::uint8_t layouts[rankCount] = {};  // Layout bits by rank
    bool demandsLayout = false;            // whether any entry of `layouts` is set
    std::uint8_t mostDimensions = 0;       // 0: any number
    std::uint16_t alignment = 1;           // bytes that the first element is at a multiple of

    constexpr bool converts(diopiDtype_t dtype) const {
        return static_cast<unsigned>(dtype) < dtypeCount && ((casts >> dtype) & 1U) != 0;
    }
    constexpr diopiDtype_t targetOf(diopiDtype_t dtype) const {
        return converts(dtype) ? static_cast<diopiDtype_t>(target[dtype]) : dtype;
    }
    constexpr std::uint8_t layoutsOf(std::int64_t rank) const {
        return layouts[rank < rankCount - 1 ? rank : rankCount - 1];
    }

    // Whether an operator on the chip can take a tensor of so many dimensions at all.
    constexpr bool admitsRank(std::int64_t rank) const { return mostDimensions == 0 || rank <= mostDimensions; }
    bool isAligned(const void* data) const { return reinterpret_cast<std::uintptr_t>(data) % alignment == 0; }

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
        rule.demandsLayout = true;
        return rule;
    }
    constexpr Rule upTo(int dimensions) const {
        Rule rule = *this;
        rule.mostDimensions = static_cast<std::uint8_t>(dimensions);
        return rule;
    }
    constexpr Rule aligned(int bytes) const {
        Rule rule = *this;
        rule.alignment = static_cast<std::uint16_t>(bytes);
        return rule;
    }
    constexpr Rule everyRank(int formats) const {
        Rule rule = *this;
        for (int rank = 0; rank < rankCount; ++rank) {
            rule.layouts[rank] = static_cast<std::uint8_t>(formats);
        }
        rule.demandsLayout = true;
        return rule;
    }
};

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_RULE_H_
