// Rights of the process that loads the library under test: files, system calls, code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diopigen::executor {

inline constexpr const char* kSharedMemory = "/dev/shm";

/// What confines the library, and what it may do all the same: bits of `open`.
inline constexpr std::uint8_t kConfined = 1;
inline constexpr std::uint8_t kPrograms = 2;
inline constexpr std::uint8_t kNetwork = 4;
inline constexpr std::uint8_t kHome = 8;

/// Lets this process and those that it starts write only below the named folders and to devices, and call nothing that
/// outlives it or that `bits` does not allow. Returns the names of what is in force.
std::vector<std::string> confine(const std::vector<std::string>& writable, std::uint8_t bits);

/// Gives up what the user of a namespace may do in it, such as to take its mounts away.
void drop_capabilities();

/// Makes the code of all that is loaded so far unchangeable in this process. Returns whether the system can do so.
bool seal_code();

}  // namespace diopigen::executor
