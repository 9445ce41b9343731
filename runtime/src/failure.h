// How the runtime reports failures: thrown as Failure inside, turned into a status and a text at the C boundary.
#ifndef DIOPIGEN_RUNTIME_FAILURE_H_
#define DIOPIGEN_RUNTIME_FAILURE_H_

#include <diopi/diopirt.h>

#include <stdexcept>
#include <string>

namespace diopigen {

/// A failure with the status that the caller of the C function gets and the text that explains it.
class Failure : public std::runtime_error {
  public:
    Failure(diopiError_t status, const std::string& text) : std::runtime_error(text), status_(status) {}
    diopiError_t status() const { return status_; }

  private:
    diopiError_t status_;
};

/// A failure with status diopiErrorOccurred.
[[noreturn]] void fail(const std::string& text);

/// Throws unless `pointer`, the parameter called `parameter`, is set.
inline void require_not_null(const void* pointer, const char* parameter) {
    if (pointer == nullptr) {
        fail(std::string("parameter '") + parameter + "' is null");
    }
}

/// Records the exception that is being handled as the last error of this thread, under the name of the C function it
/// is about to leave. Call only from a catch block.
diopiError_t record_current_exception(const char* function) noexcept;

/// Text of this thread's last error, "" when there was none.
const char* last_error_text() noexcept;
void clear_last_error_text() noexcept;

/// Runs the body of the C function `function`; no exception gets out.
template <class Body>
diopiError_t guarded(const char* function, const Body& body) noexcept {
    try {
        body();
        return diopiSuccess;
    } catch (...) {
        return record_current_exception(function);
    }
}

}  // namespace diopigen

#endif  // DIOPIGEN_RUNTIME_FAILURE_H_
