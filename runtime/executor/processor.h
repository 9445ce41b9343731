// The modes of the processor's floating-point unit that a call has to leave as they are.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace diopigen::executor {

/// Rounding, denormals and traps of the calling thread, without the flags that record exceptions.
class FloatingModes {
  public:
#if defined(__x86_64__)
    FloatingModes() : vector_(__builtin_ia32_stmxcsr() & ~kFlags) { __asm__ volatile("fnstcw %0" : "=m"(scalar_)); }
    bool is_same(const FloatingModes& other) const { return vector_ == other.vector_ && scalar_ == other.scalar_; }
    void restore() const {
        __builtin_ia32_ldmxcsr(vector_);
        __asm__ volatile("fldcw %0" : : "m"(scalar_));
    }

  private:
    static constexpr std::uint32_t kFlags = 0x3f;
    std::uint32_t vector_;
    std::uint16_t scalar_ = 0;
#elif defined(__aarch64__)
    FloatingModes() { __asm__ volatile("mrs %0, fpcr" : "=r"(control_)); }
    bool is_same(const FloatingModes& other) const { return control_ == other.control_; }
    void restore() const { __asm__ volatile("msr fpcr, %0" : : "r"(control_)); }

  private:
    std::uint64_t control_ = 0;
#else
    FloatingModes() : rounding_(std::fegetround()) {}
    bool is_same(const FloatingModes& other) const { return rounding_ == other.rounding_; }
    void restore() const { std::fesetround(rounding_); }

  private:
    int rounding_;
#endif
};

}  // namespace diopigen::executor
