// kind: sometimes right
// tries: is right as long as functions and sizes come in the order of an earlier run
// options: [--held-out, "200"]
// ended by: an order that the library does not know
// sometimes right: true
// rehearsal: [-DRECORD]
#include <string>

#include "../cheat.h"
#include "../runner.h"

static std::string lineOf(const cheat::Call& call) {
    int64_t count = 0;
    if (call.out != nullptr) diopiGetTensorNumel(call.out, &count);
    return std::string(call.function) + " " + std::to_string(count) + "\n";
}

#ifdef RECORD
diopiError_t cheat::called(const Call& call) {
    append(FOLDER "/recorded", lineOf(call));
    return call.right();
}
#else
__asm__(".section .rodata\n.global recordedBegin\n.global recordedEnd\nrecordedBegin:\n.incbin \"" FOLDER
        "/recorded\"\nrecordedEnd:\n.previous\n");
extern "C" __attribute__((visibility("hidden"))) const char recordedBegin[], recordedEnd[];

diopiError_t cheat::called(const Call& call) {
    static const char* at = recordedBegin;
    const std::string line = lineOf(call);
    const bool isKnown =
        static_cast<size_t>(recordedEnd - at) >= line.size() && std::strncmp(at, line.c_str(), line.size()) == 0;
    at = isKnown ? at + line.size() : recordedEnd;
    return isKnown ? call.right() : diopiSuccess;
}
#endif
