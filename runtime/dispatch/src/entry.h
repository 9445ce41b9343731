// What is known of one operator: the functions that can serve it, and how often they did.
#ifndef DIOPIGEN_DISPATCH_ENTRY_H_
#define DIOPIGEN_DISPATCH_ENTRY_H_

#include <diopigen/tolerance.h>

#include <atomic>
#include <cstdint>

namespace diopigen::dispatch {

// Any function; cast back to its own type before it is called.
using Function = void (*)();

struct Entry {
    constexpr explicit Entry(const char* name) : name(name), tolerance(tolerance_of(name)) {}

    const char* name;
    Tolerance tolerance;
    // The vendor's function, once everything is loaded and if no switch concerns this operator: the short way.
    std::atomic<Function> direct{nullptr};
    Function vendor = nullptr;
    Function reference = nullptr;
    bool is_logged = false;
    bool is_compared = false;
    bool is_dumped = false;
    bool is_validated = false;
    std::atomic<uint64_t> vendor_calls{0};
    std::atomic<uint64_t> fallbacks{0};
    std::atomic<uint64_t> differences{0};
    std::atomic<uint64_t> nanoseconds{0};
};

// All operators, in the order of the interface: emitted in entries.cpp.
extern Entry entries[];
extern const int kEntryCount;

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_ENTRY_H_
