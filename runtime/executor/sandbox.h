// Limits of the process that loads the library under test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace diopigen::executor {

/// Runs the rest of the program in a process of its own, in namespaces where the system has them: from there no other
/// process can be seen or signalled, and what it starts ends with it. The calling process waits for it and ends as it
/// does. Returns in the new process alone, with the names of what is in force. `bits` are those of rights.h; of the
/// user's files only `visible` is there.
std::vector<std::string> separate(std::uint8_t bits, const std::vector<std::string>& visible);

/// A new folder for temporary files, which TMPDIR names from now on; removed when the process that called `separate`
/// ends.
std::string temporary_folder();

}  // namespace diopigen::executor
