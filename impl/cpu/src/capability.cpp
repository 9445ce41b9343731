// How DIOPI_CPU_CAPABILITY limits the instruction set of our own loops. (PyTorch's ATEN_CPU_CAPABILITY is the model.)
//
// GCC's target_clones makes each marked function an ifunc: while the loader relocates the library it calls a resolver,
// which calls libgcc's __cpu_indicator_init and tests bits of libgcc's CPU model. Both are hidden symbols, linked into
// this library alone. So the linker routes that call to us (--wrap, CMakeLists.txt), and we clear the bits of levels
// that are not requested. Detection stays libgcc's, a call costs what it did, and nothing is compiled again.
//
// Resolvers run before the library is ready, which binds what they call:
// - No function of another library: its entry in our table may not be bound. Not even one that the compiler puts in
//   for a loop; this file is compiled with -fno-plt and without such idioms.
// - Pointers to data of other libraries are bound: glibc defers ifuncs behind them. But in a library that the program
//   is linked with, resolvers run before libc's constructor has set `environ`. Then the variables are read where the
//   kernel has put them, above the arguments on the first stack.
#include "diopi_cpu/capability.h"

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "diopi_core/clones.h"

namespace diopigen::cpu {
namespace {

constexpr char kVariable[] = "DIOPI_CPU_CAPABILITY";
constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
constexpr int kLevels = 3;

enum class Request { kNone, kKnown, kUnknown };

struct State {
    bool is_selected;
    Request request;
    Capability requested;
    char text[32];  // the value, cut to what a message shows
};
State state;  // zero before any constructor runs

}  // namespace
}  // namespace diopigen::cpu

extern "C" {
#if defined(DIOPI_CPU_LEVELS)
extern unsigned __cpu_features2[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) int __real___cpu_indicator_init();
__attribute__((visibility("hidden"))) int __wrap___cpu_indicator_init();
#endif
extern char** environ __attribute__((weak));
#if defined(__linux__)
extern void* __libc_stack_end __attribute__((weak));  // glibc: where the kernel has put argc, argv and the variables
#endif
}

namespace diopigen::cpu {
namespace {

char** variables() {
    if (&environ != nullptr && environ != nullptr) {
        return environ;
    }
#if defined(__linux__)
    if (&__libc_stack_end != nullptr && __libc_stack_end != nullptr) {
        auto* entries = static_cast<intptr_t*>(__libc_stack_end);
        return reinterpret_cast<char**>(entries + 1 + entries[0] + 1);
    }
#endif
    return nullptr;
}

// What follows the prefix, or null.
const char* after(const char* text, const char* prefix) {
    while (*prefix != '\0' && *text == *prefix) {
        ++text;
        ++prefix;
    }
    return *prefix == '\0' ? text : nullptr;
}

// The value of the variable; null where it is not set.
const char* value_of_variable() {
    char** const all = variables();
    for (char** one = all; one != nullptr && *one != nullptr; ++one) {
        const char* const rest = after(*one, kVariable);
        if (rest != nullptr && *rest == '=') {
            return rest + 1;
        }
    }
    return nullptr;
}

void read_variable() {
    const char* const value = value_of_variable();
    if (value == nullptr || *value == '\0') {
        return;
    }
    state.request = Request::kUnknown;
    for (unsigned i = 0; i + 1 < sizeof(state.text) && value[i] != '\0'; ++i) {
        state.text[i] = value[i];
    }
    for (int level = 0; level < kLevels; ++level) {
        const char* const rest = after(value, kNames[level]);
        if (rest != nullptr && *rest == '\0') {
            state.request = Request::kKnown;
            state.requested = static_cast<Capability>(level);
        }
    }
}

#if defined(DIOPI_CPU_LEVELS)

// What the resolvers ask, in their order.
bool has_avx512() { return __builtin_cpu_supports("x86-64-v4") != 0; }
bool has_avx2() { return __builtin_cpu_supports("x86-64-v3") != 0; }

// Clears the bit of the CPU model that `has` tests, which is set. The numbers of the bits are GCC's own, and it has
// more of them with each version: so the bit is that one whose absence changes the answer.
void clear(bool (*has)()) {
    for (unsigned* entry = __cpu_features2; has(); ++entry) {
        for (unsigned bit = 1; bit != 0 && has(); bit <<= 1) {
            const unsigned before = *entry;
            *entry = before & ~bit;
            asm volatile("" ::: "memory");
            if (has()) {
                *entry = before;
            }
        }
    }
}

void choose() {
    if (state.is_selected) {
        return;
    }
    state.is_selected = true;
    read_variable();
    if (state.request != Request::kKnown) {
        return;
    }
    if (state.requested < Capability::kAvx512 && has_avx512()) {
        clear(has_avx512);
    }
    if (state.requested < Capability::kAvx2 && has_avx2()) {
        clear(has_avx2);
    }
}

Capability in_use() {
    __wrap___cpu_indicator_init();
    return has_avx512() ? Capability::kAvx512 : has_avx2() ? Capability::kAvx2 : Capability::kBaseline;
}

constexpr char kLimit[] = "on this processor";

#else

// All code is compiled for one instruction set.
Capability in_use() {
    if (!state.is_selected) {
        state.is_selected = true;
        read_variable();
    }
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
    return Capability::kAvx512;
#elif defined(__AVX2__) && defined(__FMA__)
    return Capability::kAvx2;
#else
    return Capability::kBaseline;
#endif
}

constexpr char kLimit[] = "in this build, which has one instruction set";

#endif

}  // namespace

Capability capability() {
    static const Capability level = in_use();
    return level;
}

const char* capability_name(Capability level) { return kNames[static_cast<int>(level)]; }

void report_capability() {
    static std::atomic_flag reported = ATOMIC_FLAG_INIT;
    const Capability level = capability();
    const bool obeyed = state.request == Request::kKnown && state.requested == level;
    if (state.request == Request::kNone || obeyed || reported.test_and_set()) {
        return;
    }
    if (state.request == Request::kUnknown) {
        std::fprintf(stderr, "diopi_cpu: %s is '%s', not baseline, avx2 or avx512; using %s\n", kVariable, state.text,
                     capability_name(level));
    } else {
        std::fprintf(stderr, "diopi_cpu: %s=%s is not available %s; using %s\n", kVariable, state.text, kLimit,
                     capability_name(level));
    }
}

}  // namespace diopigen::cpu

#if defined(DIOPI_CPU_LEVELS)
// Called by every resolver, and by nothing that runs at the same time: the loader holds its lock.
extern "C" int __wrap___cpu_indicator_init() {
    const int result = __real___cpu_indicator_init();
    diopigen::cpu::choose();
    return result;
}
#endif
