// The functions of the library that are not operators.
#include <diopi/functions.h>
#include <diopigen/dispatch.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "entry.h"
#include "error_text.h"
#include "libraries.h"

namespace dispatch = diopigen::dispatch;
using diopigen::dispatch::Entry;

namespace {

uint64_t sum(const char* function, std::atomic<uint64_t> Entry::*member) {
    uint64_t total = 0;
    for (int i = 0; i < dispatch::kEntryCount; ++i) {
        const Entry& entry = dispatch::entries[i];
        if (function == nullptr || std::strcmp(entry.name, function) == 0) {
            total += (entry.*member).load(std::memory_order_relaxed);
        }
    }
    return total;
}

// The table of DIOPI_TIMING, the longest first.
void print_times() {
    std::vector<const Entry*> called;
    uint64_t total = 0;
    for (int i = 0; i < dispatch::kEntryCount; ++i) {
        const Entry& entry = dispatch::entries[i];
        if (entry.vendor_calls + entry.fallbacks > 0) {
            called.push_back(&entry);
            total += entry.nanoseconds;
        }
    }
    std::sort(called.begin(), called.end(),
              [](const Entry* a, const Entry* b) { return a->nanoseconds > b->nanoseconds; });
    std::string text = "times per operator\n";
    char line[160];
    std::snprintf(line, sizeof(line), "%-40s %10s %10s %12s %12s %6s\n", "operator", "vendor", "fallback", "total ms",
                  "mean us", "share");
    text += line;
    for (const Entry* entry : called) {
        const uint64_t calls = entry->vendor_calls + entry->fallbacks;
        const auto nanoseconds = static_cast<double>(entry->nanoseconds);
        std::snprintf(line, sizeof(line), "%-40s %10llu %10llu %12.3f %12.1f %5.1f%%\n", entry->name,
                      static_cast<unsigned long long>(entry->vendor_calls),
                      static_cast<unsigned long long>(entry->fallbacks), nanoseconds / 1e6,
                      nanoseconds / 1e3 / static_cast<double>(calls),
                      total == 0 ? 0.0 : 100 * nanoseconds / static_cast<double>(total));
        text += line;
    }
    text.pop_back();
    dispatch::say(text);
}

}  // namespace

extern "C" {

uint64_t diopigenFallbackCount(const char* function) { return sum(function, &Entry::fallbacks); }

uint64_t diopigenDifferenceCount(const char* function) { return sum(function, &Entry::differences); }

const char* diopiGetVendorName() try {
    static const std::string name = dispatch::libraries().vendor_name;
    return name.c_str();
} catch (...) {
    dispatch::caught("diopiGetVendorName");
    return "";
}

const char* diopiGetImplVersion() try {
    static const std::string version = dispatch::libraries().vendor_version;
    return version.c_str();
} catch (...) {
    dispatch::caught("diopiGetImplVersion");
    return "";
}

const char* diopiGetLastErrorString() { return dispatch::error_text(); }

int32_t initLibrary(void) try {
    dispatch::libraries();
    return 0;
} catch (...) {
    dispatch::caught("initLibrary");
    return 1;
}

int32_t finalizeLibrary(void) try {
    const dispatch::Libraries& loaded = dispatch::libraries();
    if (loaded.switches.timing) {
        print_times();
    }
    return dispatch::finalize_vendor();
} catch (...) {
    dispatch::caught("finalizeLibrary");
    return 1;
}

}  // extern "C"
