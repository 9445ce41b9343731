// Failures of packed functions: thrown inside, raised through tvm-ffi's C ABI at the boundary.
#ifndef DIOPIGEN_TVM_FFI_FAILURE_H_
#define DIOPIGEN_TVM_FFI_FAILURE_H_

#include <string>

namespace diopigen::ffi {

/// What a packed function raises. `kind` names an exception of Python, which tvm-ffi translates: TypeError, ValueError,
/// NotImplementedError, RuntimeError.
struct Failure {
    const char* kind;
    std::string text;
};

/// Hands the exception that is being handled to tvm-ffi and returns what a safe call then returns. Call only from a
/// catch block.
int raise_current_exception(const char* function) noexcept;

/// Runs the body of a safe call; no exception gets out.
template <class Body>
int guarded(const char* function, const Body& body) noexcept {
    try {
        body();
        return 0;
    } catch (...) {
        return raise_current_exception(function);
    }
}

}  // namespace diopigen::ffi

#endif  // DIOPIGEN_TVM_FFI_FAILURE_H_
