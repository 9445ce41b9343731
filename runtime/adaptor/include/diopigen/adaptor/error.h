// What went wrong in a shim, as a text for diopiGetLastErrorString.
#ifndef DIOPIGEN_ADAPTOR_ERROR_H_
#define DIOPIGEN_ADAPTOR_ERROR_H_

#include <diopi/diopirt.h>
#include <diopigen/dtypes.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>

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

// The latest failure of a shim on this thread. The text is on the heap: the thread-local memory of a library with
// variables of the model "initial-exec" has to fit into what the loader has left (runtime/sim).
struct LastError {
    static constexpr std::size_t kLength = 512;  // longer texts are cut
    char* text = nullptr;                        // from the thread's first failure on
};

inline LastError& last_error_of_thread() {
    static thread_local LastError error;
    return error;
}

// Returns the memory of the text when the thread ends.
struct LastErrorOwner {
    ~LastErrorOwner() {
        delete[] last_error_of_thread().text;
        last_error_of_thread().text = nullptr;
    }
};

// Null where there is no memory: a failure is reported without a text then.
__attribute__((cold)) inline char* text_of_thread() {
    LastError& error = last_error_of_thread();
    if (error.text == nullptr) {
        static thread_local const LastErrorOwner owner;
        (void)owner;
        error.text = new (std::nothrow) char[LastError::kLength];
    }
    return error.text;
}

// The latest failure was not a shim's: its text is the vendor's.
inline void clear_last_error() {
    LastError& error = last_error_of_thread();
    if (error.text != nullptr) {
        error.text[0] = '\0';
    }
}

__attribute__((format(printf, 3, 4), cold)) inline diopiError_t fail(const Helpers& helpers, diopiError_t status,
                                                                     const char* format, ...) {
    char* const text = text_of_thread();
    if (text == nullptr) {
        return status;
    }
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, LastError::kLength, format, arguments);
    va_end(arguments);
    if (helpers.setLastError != nullptr) {
        helpers.setLastError("%s", text);
    }
    return status;
}

// The text of diopiGetLastErrorString.
inline const char* last_error_text(const Helpers& helpers, const char* (*vendor_text)()) {
    const LastError& error = last_error_of_thread();
    if (error.text != nullptr && error.text[0] != '\0') {
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
