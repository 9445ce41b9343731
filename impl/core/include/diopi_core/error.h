// How a call fails: an Error carries the status, `guarded` turns it into what C sees and keeps the text for
// diopiGetLastErrorString. No exception leaves the library.
#ifndef DIOPI_CORE_ERROR_H_
#define DIOPI_CORE_ERROR_H_

#include <diopi/diopirt.h>

#include <string>
#include <utility>

namespace diopigen::core {

class Error {
  public:
    Error(diopiError_t status, std::string message) : status_(status), message_(std::move(message)) {}
    diopiError_t status() const { return status_; }
    const std::string& message() const { return message_; }

  private:
    diopiError_t status_;
    std::string message_;
};

// Throws an Error. `message` names the parameter; the operator is prepended by `guarded`.
[[noreturn]] void fail(std::string message, diopiError_t status = diopiErrorOccurred);

// Throws where `holds` is false; `message` is a literal, so that nothing is built while all is well.
inline void require(bool holds, const char* message, diopiError_t status = diopiErrorOccurred) {
    if (!holds) {
        fail(message, status);
    }
}

// The text of the latest failure on this thread.
const char* last_error_text();

namespace detail {
// To be called inside a catch block: records what is being thrown and gives its status.
diopiError_t caught(const char* operator_name);
}  // namespace detail

template <typename Body>
diopiError_t guarded(const char* operator_name, Body&& body) {
    try {
        body();
        return diopiSuccess;
    } catch (...) {
        return detail::caught(operator_name);
    }
}

// Begins a call of an operator, which runs on the stream of `ctx`; nothing to do where the device has no streams. Each
// library has its own.
void begin_call(const char* operator_name, diopiContextHandle_t ctx);

// The same for operators that any device runs which can copy elements: they need the stream of the call.
template <typename Body>
diopiError_t guarded(const char* operator_name, diopiContextHandle_t ctx, Body&& body) {
    return guarded(operator_name, [&] {
        begin_call(operator_name, ctx);
        body();
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_ERROR_H_
