// kind: texts
// tries: puts markup and characters that XML forbids into reports, by its name and its error text
// ended by: texts of the library are escaped
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiErrorOccurred; }
const char* cheat::vendor() { return "</td><script>forged()</script>"; }
const char* cheat::version() { return "]]><testcase name=\"forged\"/>\x01"; }
const char* cheat::errorText() { return "\"}]<script>forged()</script> ]]> \x01\x0b\x1f &#0;"; }
