// The run-time switches: which calls are forced to the CPU, shown, or compared with the CPU.
//
// DIOPI_FORCE_FALLBACK_OPS  expressions, separated by commas: these operators run on the CPU
// DIOPI_DUMP_OP_ARGS        1: each call with the functions of the interface that it led to; 2: its arguments as well;
//                           3: their values as well
// DIOPI_AUTOCOMPARE         expressions: these operators run on the CPU too, and what differs is reported and kept
// DIOPI_DUMP_FOLDER         where such calls are kept; diopi_dump
//
// An expression is an ECMAScript regular expression for the whole name of an overload (`add.out`, `.*\.Scalar`) or of
// an operator that led to it (`conv2d` for `convolution_overrideable`).
#ifndef DIOPIGEN_TORCH_SWITCHES_H_
#define DIOPIGEN_TORCH_SWITCHES_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace diopigen::backend {

struct Switches {
    std::string forced;
    std::string compared;
    std::string folder = "diopi_dump";
    int64_t dump = 0;
};

/// Current switches; initially those of the environment.
Switches switches();
/// Sets them. Throws for what is no regular expression, and for a level that there is not.
void set_switches(const Switches& switches);

/// Number of calls that differed from the CPU.
int64_t difference_count();

/// True if any switch is on. Read by every kernel.
extern std::atomic<bool> is_watched;

/// Keeps the name of a function of the interface, for the switch that shows calls.
void keep_function(const char* name);

/// A function of the interface is about to be called.
inline void note_function(const char* name) {
    if (__builtin_expect(is_watched.load(std::memory_order_relaxed), false)) {
        keep_function(name);
    }
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_SWITCHES_H_
