// Failures of the dispatch library: a status and a text for diopiGetLastErrorString.
#ifndef DIOPIGEN_DISPATCH_FAILURE_H_
#define DIOPIGEN_DISPATCH_FAILURE_H_

#include <diopi/diopirt.h>

#include <stdexcept>
#include <string>

namespace diopigen::dispatch {

class Failure : public std::runtime_error {
  public:
    Failure(diopiError_t status, const std::string& text) : std::runtime_error(text), status_(status) {}
    diopiError_t status() const { return status_; }

  private:
    diopiError_t status_;
};

// Throws where a function of the host runtime failed; `what` is its name.
void require(diopiError_t status, const char* what);

// Whose text diopiGetLastErrorString gives: of the library that answered last on this thread, or our own.
using ErrorText = const char* (*)();
void setErrorSource(ErrorText source);
// Keeps a text of our own. Never fails; long texts are cut.
void setErrorText(const char* function, const char* text) noexcept;
const char* errorText() noexcept;

// To be called in a catch block: the status that the exception stands for. No exception crosses the C boundary.
diopiError_t caught(const char* function) noexcept;

// One line to stderr, in one write: lines of several threads do not mix.
void say(const std::string& line);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_FAILURE_H_
