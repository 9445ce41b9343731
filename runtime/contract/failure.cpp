#include "failure.h"

// Of our own host runtime; others lack it.
extern "C" __attribute__((weak)) diopiError_t diopiHostGetLastErrorText(const char** text);

namespace diopigen::contract {

void failed(diopiError_t status, const char* what) {
    const char* text = "the host gave no reason";
    if (diopiHostGetLastErrorText != nullptr) {
        diopiHostGetLastErrorText(&text);
    }
    throw Failure(status, std::string(what) + ": " + text);
}

}  // namespace diopigen::contract
