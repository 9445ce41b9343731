// Calls of C functions whose parameters are known only when the program runs.
//
// Integers and pointers are in integer registers, numbers with a point in those for such numbers, what is left on the
// stack, in order: so one call with all registers and the stack filled serves any function. The rules are those of the
// psABIs of x86-64 (System V), AArch64 (AAPCS64), RISC-V and LoongArch, for arguments of at most 16 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "frames.h"

namespace diopigen::executor {

/// The place of a pair of words of which only the first finds a register.
enum class Pairs { kStack, kStackAndCloseRegisters, kSplit };

#if defined(__x86_64__)
inline constexpr std::size_t kIntegerRegisters = 6;
inline constexpr Pairs kPairs = Pairs::kStack;
inline constexpr bool kFloatsFollowIntegers = false;
#elif defined(__aarch64__)
inline constexpr std::size_t kIntegerRegisters = 8;
inline constexpr Pairs kPairs = Pairs::kStackAndCloseRegisters;
inline constexpr bool kFloatsFollowIntegers = false;
#elif (defined(__riscv) && __riscv_xlen == 64) || defined(__loongarch64)
inline constexpr std::size_t kIntegerRegisters = 8;
inline constexpr Pairs kPairs = Pairs::kSplit;
inline constexpr bool kFloatsFollowIntegers = true;
#else
#error "the calling convention of this processor is not known: add it here"
#endif
inline constexpr std::size_t kFloatRegisters = 8;
inline constexpr std::size_t kStackWords = 64;

/// The arguments of one call.
class Arguments {
  public:
    void integer(std::int64_t value) {
        if (integer_count_ < kIntegerRegisters) {
            integers_[integer_count_++] = value;
        } else {
            stack_.push_back(value);
        }
    }

    void pointer(const void* value) { integer(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(value))); }

    /// A structure of two words that is passed by value.
    void pair(std::int64_t first, std::int64_t second) {
        if (kPairs == Pairs::kSplit || integer_count_ + 2 <= kIntegerRegisters) {
            integer(first);
            integer(second);
            return;
        }
        if (kPairs == Pairs::kStackAndCloseRegisters) {
            integer_count_ = kIntegerRegisters;
        }
        stack_.push_back(first);
        stack_.push_back(second);
    }

    void real(double value) {
        std::int64_t word = 0;
        std::memcpy(&word, &value, sizeof(word));
        floating(word);
    }

    void real(float value) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        floating(static_cast<std::int64_t>(0xffffffff00000000U | bits));  // upper bits as RISC-V boxes a float
    }

    std::int32_t call(void* function) {
        if (stack_.empty()) {
            return call_with<0>(function);
        }
        if (stack_.size() > kStackWords) {
            throw Failed("protocol", "a call has more arguments than this executor passes");
        }
        stack_.resize(kStackWords);
        return call_with<kStackWords>(function);
    }

  private:
    void floating(std::int64_t word) {
        if (float_count_ < kFloatRegisters) {
            std::memcpy(&floats_[float_count_++], &word, sizeof(word));
        } else if (kFloatsFollowIntegers) {
            integer(word);
        } else {
            stack_.push_back(word);
        }
    }

    template <std::size_t kStack>
    std::int32_t call_with(void* function) {
        return apply(function, std::make_index_sequence<kIntegerRegisters>(),
                     std::make_index_sequence<kFloatRegisters>(), std::make_index_sequence<kStack>());
    }

    template <std::size_t... kInteger, std::size_t... kFloat, std::size_t... kStack>
    std::int32_t apply(void* function, std::index_sequence<kInteger...>, std::index_sequence<kFloat...>,
                       std::index_sequence<kStack...>) {
        using Function = std::int32_t (*)(decltype(static_cast<void>(kInteger), std::int64_t{})...,
                                          decltype(static_cast<void>(kFloat), double{})...,
                                          decltype(static_cast<void>(kStack), std::int64_t{})...);
        // Without a call for each element, where nothing is optimized.
        const std::int64_t* const integers = integers_.data();
        const double* const floats = floats_.data();
        const std::int64_t* const stack = stack_.data();
        return reinterpret_cast<Function>(function)(integers[kInteger]..., floats[kFloat]..., stack[kStack]...);
    }

    std::array<std::int64_t, kIntegerRegisters> integers_{};
    std::array<double, kFloatRegisters> floats_{};
    std::vector<std::int64_t> stack_;
    std::size_t integer_count_ = 0;
    std::size_t float_count_ = 0;
};

}  // namespace diopigen::executor
