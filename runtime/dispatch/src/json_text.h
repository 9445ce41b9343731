// Texts as JSON has them.
#ifndef DIOPIGEN_DISPATCH_JSON_TEXT_H_
#define DIOPIGEN_DISPATCH_JSON_TEXT_H_

#include <cstdio>
#include <string>

namespace diopigen::dispatch {

// In quotes, escaped. The text is UTF-8.
inline std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (static_cast<unsigned char>(letter) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof(escape), "\\u%04x", letter);
            result += escape;
            continue;
        }
        if (letter == '"' || letter == '\\') {
            result += '\\';
        }
        result += letter;
    }
    return result + "\"";
}

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_JSON_TEXT_H_
