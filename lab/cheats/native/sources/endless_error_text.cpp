// kind: texts
// tries: has an error text of 64 MiB
// ended by: texts of the library are cut
// options: [--only, sample=2]
#include <string>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiErrorOccurred; }
const char* cheat::errorText() {
    static const std::string text(64 << 20, 'x');
    return text.c_str();
}
