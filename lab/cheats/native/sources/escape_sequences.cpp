// kind: texts
// tries: clears the terminal by its name, its version and its error text
// ended by: texts of the library are shown without control characters
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiErrorOccurred; }
const char* cheat::vendor() { return "\x1b[2J\x1b[1;1Hall passed\r\n999 passed"; }
const char* cheat::version() { return "\x1b]0;passed\x07\b\b\b"; }
const char* cheat::errorText() {
    return "\x1b[2J\x1b[1A\rforged: 999 passed\n\x9b"
           "2J";
}
