// kind: texts
// tries: returns an address where nothing is as its error text
// ended by: the process is not the one that reports
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiErrorOccurred; }
const char* cheat::errorText() { return reinterpret_cast<const char*>(16); }
