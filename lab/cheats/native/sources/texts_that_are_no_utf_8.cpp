// kind: texts
// tries: has a name, a version and an error text that are no UTF-8
// ended by: invalid bytes are replaced
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiErrorOccurred; }
const char* cheat::vendor() { return "\xff\xfe\xed\xa0\x80"; }
const char* cheat::version() { return "\xc0\xaf"; }
const char* cheat::errorText() { return "\xf8\x88\x80\x80\x80 \xed\xb0\x80"; }
