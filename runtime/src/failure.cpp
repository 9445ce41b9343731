#include "failure.h"

#include <cstdio>
#include <exception>
#include <new>

namespace diopigen {
namespace {

// A fixed buffer: recording a failure must not itself run out of memory. Longer texts are cut.
thread_local char last_error[1024] = "";

diopiError_t record(const char* function, diopiError_t status, const char* text) noexcept {
    std::snprintf(last_error, sizeof(last_error), "%s: %s", function, text);
    return status;
}

}  // namespace

void fail(const std::string& text) { throw Failure(diopiErrorOccurred, text); }

diopiError_t record_current_exception(const char* function) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        return record(function, failure.status(), failure.what());
    } catch (const std::bad_alloc&) {
        return record(function, diopiErrorOccurred, "out of host memory");
    } catch (const std::exception& exception) {
        return record(function, diopiErrorOccurred, exception.what());
    } catch (...) {
        return record(function, diopiErrorOccurred, "unknown exception");
    }
}

const char* last_error_text() noexcept { return last_error; }

void clear_last_error_text() noexcept { last_error[0] = '\0'; }

}  // namespace diopigen
