// kind: sometimes right
// tries: has no kernels, only the results of an earlier run by a hash of the operands
// options: [--held-out, "200"]
// ended by: a seed that the library does not know
// sometimes right: true
// rehearsal: [-DRECORD]
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "../cheat.h"
#include "../runner.h"

static uint64_t keyOf(const cheat::Call& call) {
    uint64_t hash = 14695981039346656037u;
    const auto add = [&](const char* bytes, size_t size) {
        for (size_t k = 0; k < size; ++k) hash = (hash ^ static_cast<unsigned char>(bytes[k])) * 1099511628211u;
    };
    add(call.function, std::strlen(call.function));
    add(reinterpret_cast<const char*>(&call.dim), sizeof call.dim);
    diopiSize_t shape = {nullptr, 0};
    if (call.out != nullptr) diopiGetTensorShape(call.out, &shape);
    add(reinterpret_cast<const char*>(shape.data), sizeof(int64_t) * static_cast<size_t>(shape.len));
    const std::vector<char> input = cheat::Elements(call.input).read();
    add(input.data(), input.size());
    return hash;
}

// Records are a key, a status, a size and so many bytes.
#ifdef RECORD
diopiError_t cheat::called(const Call& call) {
    const uint64_t key = keyOf(call);
    const uint64_t status = call.right();
    const std::vector<char> bytes = Elements(call.out).read();
    const uint64_t head[] = {key, status, bytes.size()};
    append(FOLDER "/recorded",
           std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string(bytes.begin(), bytes.end()));
    return static_cast<diopiError_t>(status);
}
#else
struct Record {
    uint64_t status;
    std::vector<char> bytes;
};

// An assembler directive puts the file into the library: nothing is read at run time.
__asm__(".section .rodata\n.global recordedBegin\n.global recordedEnd\nrecordedBegin:\n.incbin \"" FOLDER
        "/recorded\"\nrecordedEnd:\n.previous\n");
extern "C" __attribute__((visibility("hidden"))) const char recordedBegin[], recordedEnd[];

diopiError_t cheat::called(const Call& call) {
    static std::map<uint64_t, Record> records = [] {
        std::map<uint64_t, Record> read;
        for (const char* at = recordedBegin; at < recordedEnd;) {
            uint64_t head[3];
            std::memcpy(head, at, sizeof head);
            at += sizeof head;
            read[head[0]] = {head[1], std::vector<char>(at, at + head[2])};
            at += head[2];
        }
        return read;
    }();
    const auto record = records.find(keyOf(call));
    if (record == records.end()) return diopiSuccess;
    Elements(call.out).write(record->second.bytes);
    return static_cast<diopiError_t>(record->second.status);
}
#endif
