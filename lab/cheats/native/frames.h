// The protocol between a process that makes calls and the one that compares (docs/executor.md), as far as cheats forge
// it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "answers.h"

namespace cheat {

enum class Kind : uint32_t { opened = 4, answer = 5, closed = 6, error = 7 };

template <typename Number>
std::string raw(Number value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string field(const std::string& text) { return raw(static_cast<uint32_t>(text.size())) + text; }

inline std::string header(Kind kind, uint64_t bytes) { return raw(kind) + raw(uint32_t{0}) + raw(bytes); }

inline std::string frame(Kind kind, const std::string& fields) { return header(kind, fields.size()) + fields; }

}  // namespace cheat
