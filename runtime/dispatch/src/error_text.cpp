#include "error_text.h"

#include <cstdio>

namespace diopigen::dispatch {

namespace {

struct LastError {
    ErrorText source = nullptr;
    char text[1024] = "";
};

LastError& lastError() {
    thread_local LastError error;
    return error;
}

}  // namespace

void setErrorSource(ErrorText source) { lastError().source = source; }

void setErrorText(const char* function, const char* text) noexcept {
    LastError& error = lastError();
    error.source = nullptr;
    std::snprintf(error.text, sizeof(error.text), "%s: %s", function, text);
}

const char* errorText() noexcept {
    const LastError& error = lastError();
    const char* text = error.source != nullptr ? error.source() : error.text;
    return text == nullptr ? "" : text;
}

diopiError_t caught(const char* function) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        setErrorText(function, failure.what());
        return failure.status();
    } catch (const std::exception& exception) {
        setErrorText(function, (std::string("an exception left the operator: ") + exception.what()).c_str());
    } catch (...) {
        setErrorText(function, "an exception of an unknown type left the operator");
    }
    std::fprintf(stderr, "diopi: %s\n", errorText());
    return diopiErrorOccurred;
}

void say(const std::string& line) {
    const std::string lineText = "diopi: " + line + "\n";
    std::fwrite(lineText.data(), 1, lineText.size(), stderr);
}

}  // namespace diopigen::dispatch
