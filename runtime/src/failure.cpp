#include "failure.h"

#include <cstdio>
#include <exception>
#include <new>

namespace diopigen {
namespace {

// A fixed buffer: recording a failure must not itself run out of memory. Longer texts are cut.
thread_local char lastError[1024] = "";

diopiError_t record(const char* function, diopiError_t status, const char* text) noexcept {
    std::snprintf(lastError, sizeof(lastError), "%s: %s", function, text);
    return status;
}

}  // namespace

void fail(const std::string& text) { throw Failure(diopiErrorOccurred, text); }

diopiError_t recordCurrentException(const char* function) noexcept {
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

const char* lastErrorText() noexcept { return lastError; }

void clearLastErrorText() noexcept { lastError[0] = '\0'; }

}  // namespace diopigen
