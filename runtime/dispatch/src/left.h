// Calls that the vendor's library leaves to others: what it returned, what it said, and how often.
#ifndef DIOPIGEN_DISPATCH_LEFT_H_
#define DIOPIGEN_DISPATCH_LEFT_H_

#include <diopi/diopirt.h>

#include <optional>
#include <string>

#include "entry.h"

namespace diopigen::dispatch {

struct Left {
    const char* status = nullptr;  // null where the library has no such function
    std::string text;              // which check failed; empty where the library does not say
    bool is_missing() const { return status == nullptr; }
};

// The vendor's status and text where it leaves a call, to be asked for right behind the call; none for other statuses.
std::optional<Left> left_with(const Entry& entry, diopiError_t status);

// "diopiForceFallbackToCPU: diopiMm: tensor 2 (float32 [2, 3, 4]) has another rank than the kernel takes"
std::string describe(const Left& left);

// Appends to `path`, at the end of the process or where the library is unloaded, a line of JSON for each operator,
// status and text that count_fallback() was given. Throws a Failure where the file cannot be written.
void report_fallbacks(const std::string& path);
void count_fallback(const Entry& entry, const Left& left);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_LEFT_H_
