#include "error_text.h"

#include <cstdio>

namespace diopigen::dispatch {

namespace {

struct LastError {
    ErrorText source = nullptr;
    char text[1024] = "";
};

LastError& last_error() {
    thread_local LastError error;
    return error;
}

}  // namespace

void set_error_source(ErrorText source) { last_error().source = source; }

void set_error_text(const char* function, const char* text) noexcept {
    LastError& error = last_error();
    error.source = nullptr;
    std::snprintf(error.text, sizeof(error.text), "%s: %s", function, text);
}

const char* error_text() noexcept {
    const LastError& error = last_error();
    const char* text = error.source != nullptr ? error.source() : error.text;
    return text == nullptr ? "" : text;
}

diopiError_t caught(const char* function) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        set_error_text(function, failure.what());
        return failure.status();
    } catch (const std::exception& exception) {
        set_error_text(function, (std::string("an exception left the operator: ") + exception.what()).c_str());
    } catch (...) {
        set_error_text(function, "an exception of an unknown type left the operator");
    }
    std::fprintf(stderr, "diopi: %s\n", error_text());
    return diopiErrorOccurred;
}

void say(const std::string& line) {
    const std::string line_text = "diopi: " + line + "\n";
    std::fwrite(line_text.data(), 1, line_text.size(), stderr);
}

}  // namespace diopigen::dispatch
