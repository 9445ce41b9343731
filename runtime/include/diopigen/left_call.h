// Calls that a vendor's library leaves to others: the status says so, and diopiGetLastErrorString may say why.
// For hosts, C++17.
#ifndef DIOPIGEN_LEFT_CALL_H_
#define DIOPIGEN_LEFT_CALL_H_

#include <diopi/diopirt.h>

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace diopigen {

inline bool is_left(diopiError_t status) { return status == diopiNoImplement || status == diopiForceFallbackToCPU; }

/// Why `function` left a call: `text`, which diopiGetLastErrorString gave right behind it, if it names the function.
/// Else the text is of an earlier call, and the result is empty. `text` may be null.
inline std::string reason_of(const char* text, std::string_view function) {
    const std::string_view whole(text == nullptr ? "" : text);
    for (std::size_t at = whole.find(function); at != whole.npos; at = whole.find(function, at + 1)) {
        const std::size_t end = at + function.size();
        // diopiAdd is not named by a text about diopiAddmm.
        if (end == whole.size() || std::isalnum(static_cast<unsigned char>(whole[end])) == 0) {
            return std::string(whole);
        }
    }
    return {};
}

}  // namespace diopigen

#endif  // DIOPIGEN_LEFT_CALL_H_
