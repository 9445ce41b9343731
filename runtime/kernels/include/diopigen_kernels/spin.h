// Waiting without sleeping.
#ifndef DIOPIGEN_KERNELS_SPIN_H_
#define DIOPIGEN_KERNELS_SPIN_H_

#include <chrono>
#include <thread>

namespace diopigen::kernels {

/// Looks for `isTrue` for a while before its caller sleeps: to wake a thread takes longer than most kernels. A machine
/// with one processor gains nothing by it.
template <typename Condition>
void lookFor(Condition isTrue) {
    static const bool isWorthIt = std::thread::hardware_concurrency() > 1;
    constexpr auto kLimit = std::chrono::microseconds(50);
    constexpr int kLooks = 64;  // between two looks at the clock
    if (!isWorthIt || isTrue()) {
        return;
    }
    const auto end = std::chrono::steady_clock::now() + kLimit;
    do {
        for (int i = 0; i < kLooks; ++i) {
            if (isTrue()) {
                return;
            }
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        std::this_thread::yield();  // the thread that makes it true may have no other processor
    } while (std::chrono::steady_clock::now() < end);
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_SPIN_H_
