// What went wrong in a shim, as a text for diopiGetLastErrorString.
#ifndef DIOPIGEN_ADAPTOR_ERROR_H_
#define DIOPIGEN_ADAPTOR_ERROR_H_

#include <diopi/diopirt.h>
#include <diopigen/dtypes.h>

#include <cstdarg>
#include <cstdio>
#include <exception>

namespace diopigen {
namespace adaptor {
namespace {

// The vendor's own functions that a shim needs, null where it has none. They are the raw ones, not their shims.
struct Helpers {
    diopiError_t (*cast_dtype)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
    diopiError_t (*copy_inp)(diopiContextHandle_t, diopiConstTensorHandle_t, diopiTensorHandle_t);
    diopiError_t (*contiguous)(diopiContextHandle_t, diopiTensorHandle_t*, diopiConstTensorHandle_t,
                               diopiMemoryFormat_t);
    diopiError_t (*equal)(diopiContextHandle_t, bool*, diopiConstTensorHandle_t, diopiConstTensorHandle_t);
    // The vendor's error text, where it keeps one: the shims put theirs there too.
    void (*setLastError)(const char* format, ...);
    const char* (*lastError)();
};

// A fixed length: keeping a text must not fail. Longer ones are cut.
struct LastError {
    char text[512];
};

inline LastError& last_error_of_thread() {
    static thread_local LastError error = {};
    return error;
}

// The latest failure was not a shim's: its text is the vendor's.
inline void clear_last_error() { last_error_of_thread().text[0] = '\0'; }

__attribute__((format(printf, 3, 4), cold)) inline diopiError_t fail(const Helpers& helpers, diopiError_t status,
                                                                     const char* format, ...) {
    LastError& error = last_error_of_thread();
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error.text, sizeof(error.text), format, arguments);
    va_end(arguments);
    if (helpers.setLastError != nullptr) {
        helpers.setLastError("%s", error.text);
    }
    return status;
}

// The text of diopiGetLastErrorString.
inline const char* last_error_text(const Helpers& helpers, const char* (*vendor_text)()) {
    const LastError& error = last_error_of_thread();
    if (error.text[0] != '\0') {
        return error.text;
    }
    const char* text = nullptr;
    if (vendor_text != nullptr) {
        text = vendor_text();
    } else if (helpers.lastError != nullptr) {
        text = helpers.lastError();
    }
    return text == nullptr ? "" : text;
}

__attribute__((cold)) inline diopiError_t missing(const Helpers& helpers, const char* function) {
    return fail(helpers, diopiNoImplement, "%s: the vendor's library has no such function", function);
}

// What an operator answered, on the way to the caller.
inline diopiError_t finished(diopiError_t status) {
    if (__builtin_expect(status != diopiSuccess, 0)) {
        clear_last_error();
    }
    return status;
}

// To be called in a catch block: no exception crosses the C boundary.
__attribute__((cold)) inline diopiError_t caught(const Helpers& helpers, const char* function) {
    try {
        throw;
    } catch (const std::exception& exception) {
        return fail(helpers, diopiErrorOccurred, "%s: exception: %s", function, exception.what());
    } catch (...) {
        return fail(helpers, diopiErrorOccurred, "%s: unknown exception", function);
    }
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_ERROR_H_
