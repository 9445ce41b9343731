// Frames of the protocol between the process that calls and the one that compares (docs/executor.md), as cheats forge
// them.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace cheat {

constexpr int kDescriptors = 256;

enum class Kind : uint32_t { opened = 4, answer = 5, closed = 6, error = 7 };

template <typename Number>
std::string raw(Number value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string field(const std::string& text) { return raw(static_cast<uint32_t>(text.size())) + text; }

inline std::string header(Kind kind, uint64_t bytes) { return raw(kind) + raw(uint32_t{0}) + raw(bytes); }

inline std::string frame(Kind kind, const std::string& fields) { return header(kind, fields.size()) + fields; }

// Writes to every open descriptor but those of a terminal or a file that was opened for reading.
inline void writeToAll(const std::string& text) {
    for (int descriptor = 1; descriptor < kDescriptors; ++descriptor) {
        if (!isatty(descriptor)) (void)!write(descriptor, text.data(), text.size());
    }
}

// Success without tensors, many times, and a library that was left without error.
inline std::string forgedAnswers() {
    std::string text;
    for (int call = 0; call < 400; ++call) {
        text += frame(Kind::answer, raw(int32_t{0}) + raw(int32_t{0}) + raw(0.001) + field(""));
    }
    return text + frame(Kind::closed, field(""));
}

}  // namespace cheat
