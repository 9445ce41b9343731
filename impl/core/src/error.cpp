#include "diopi_core/error.h"

#include <exception>
#include <new>

namespace diopigen::core {

namespace {

std::string& text() {
    thread_local std::string latest;
    return latest;
}

}  // namespace

void fail(std::string message, diopiError_t status) { throw Error(status, std::move(message)); }

const char* last_error_text() { return text().c_str(); }

diopiError_t detail::caught(const char* operator_name) {
    const auto record = [operator_name](const char* message) {
        try {
            text().assign(operator_name).append(": ").append(message);
        } catch (const std::bad_alloc&) {
            text().clear();
        }
    };
    try {
        throw;
    } catch (const Error& error) {
        record(error.message().c_str());
        return error.status();
    } catch (const std::bad_alloc&) {
        record("not enough memory");
    } catch (const std::exception& error) {
        record(error.what());
    } catch (...) {
        record("unknown failure");
    }
    return diopiErrorOccurred;
}

}  // namespace diopigen::core
