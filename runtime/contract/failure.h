// Why a call is not made: a status for the caller and a text for diopiGetLastErrorString.
#ifndef DIOPIGEN_CONTRACT_FAILURE_H_
#define DIOPIGEN_CONTRACT_FAILURE_H_

#include <diopi/diopirt.h>

#include <stdexcept>
#include <string>

namespace diopigen::contract {

class Failure : public std::runtime_error {
  public:
    Failure(diopiError_t status, const std::string& text) : std::runtime_error(text), status_(status) {}
    diopiError_t status() const { return status_; }

  private:
    diopiError_t status_;
};

// Throws what a function of the host runtime called `what` failed with.
[[noreturn]] void failed(diopiError_t status, const char* what);
// Throws where it failed.
inline void require(diopiError_t status, const char* what) {
    if (status != diopiSuccess) {
        failed(status, what);
    }
}

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_FAILURE_H_
