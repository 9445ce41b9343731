#include "diopi_cpu/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace diopigen::cpu {

#if defined(__SSE2__)
namespace {

int64_t last_cache_bytes() {
    constexpr int64_t kUsual = 32 << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    const int64_t found = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return found > 0 ? found : kUsual;
#else
    return kUsual;
#endif
}

}  // namespace
#endif

bool is_worth_streaming([[maybe_unused]] int64_t bytes) {
#if defined(__SSE2__)
    static const int64_t limit = last_cache_bytes();
    return bytes >= limit;
#else
    return false;
#endif
}

void stream_copy(void* to, const void* from, int64_t bytes) {
#if defined(__SSE2__)
    constexpr int64_t kLine = 64;
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    const int64_t before = -reinterpret_cast<intptr_t>(target) & (kLine - 1);
    const int64_t head = std::min(before, bytes);
    std::memcpy(target, source, static_cast<size_t>(head));
    int64_t at = head;
    for (; at + kLine <= bytes; at += kLine) {
        for (int64_t k = 0; k < kLine; k += 16) {
            const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at + k));
            _mm_stream_si128(reinterpret_cast<__m128i*>(target + at + k), word);
        }
    }
    std::memcpy(target + at, source + at, static_cast<size_t>(bytes - at));
#else
    std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

void end_streaming() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace diopigen::cpu
