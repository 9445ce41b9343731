// The user's files, which a library is tested without.
#pragma once

#include <string>
#include <vector>

namespace diopigen::executor {

/// Folders of the libraries that a library needs, as the system's loader finds them without running any of their code.
std::vector<std::string> needed_folders(const std::string& library);

/// Folders and files that variables of the environment name, the current folder, and those of the paths.
std::vector<std::string> named_paths(std::vector<std::string> paths);

/// Mounts an empty folder over the user's home, in which only `visible` is there. Returns whether that is in force.
bool hide_home(const std::vector<std::string>& visible);

/// Takes it away again, in the process that did not load the library.
void show_home();

}  // namespace diopigen::executor
