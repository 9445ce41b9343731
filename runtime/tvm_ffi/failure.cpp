#include "failure.h"

#include <tvm/ffi/c_api.h>

#include <exception>
#include <new>

namespace diopigen::ffi {
namespace {

void raise(const char* kind, const char* function, const char* text) noexcept {
    const char* parts[] = {function, ": ", text};
    TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 3);
}

}  // namespace

int raise_current_exception(const char* function) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        raise(failure.kind, function, failure.text.c_str());
    } catch (const std::bad_alloc&) {
        raise("MemoryError", function, "out of host memory");
    } catch (const std::exception& error) {
        raise("RuntimeError", function, error.what());
    } catch (...) {
        raise("RuntimeError", function, "an exception of an unknown type");
    }
    return -1;
}

}  // namespace diopigen::ffi
