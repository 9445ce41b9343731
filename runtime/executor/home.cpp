#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // O_PATH
#endif
#include "home.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace diopigen::executor {

namespace {

namespace fs = std::filesystem;

/// The home as it is named and as it is, without a slash at the end; none where all files would be below it.
std::set<std::string> homes() {
    const char* const named = std::getenv("HOME");
    std::error_code error;
    const std::string real = named == nullptr ? "" : fs::canonical(named, error).string();
    if (error || real.size() < 2 || !fs::is_directory(real, error)) {
        return {};
    }
    const std::string lexical = fs::path(named).lexically_normal().string();
    return {real, lexical.back() == '/' ? lexical.substr(0, lexical.size() - 1) : lexical};
}

bool is_below(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() + 1 && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
}

/// The folder of a file, or the file itself where its folder is the home.
std::string surroundings(const std::string& path) {
    std::error_code error;
    const fs::path whole = fs::absolute(path, error).lexically_normal();
    const std::string folder = whole.parent_path().string();
    return homes().count(folder) != 0 ? whole.string() : folder;
}

/// Binds a file or folder to its own path, which an empty folder has taken away.
void bind(int source, const std::string& target, bool is_folder) {
    std::error_code ignored;
    fs::create_directories(is_folder ? fs::path(target) : fs::path(target).parent_path(), ignored);
    if (!is_folder) {
        close(open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    mount(("/proc/self/fd/" + std::to_string(source)).c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr);
}

}  // namespace

std::vector<std::string> needed_folders(const std::string& library) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return {};
    }
    const pid_t child = fork();
    if (child == 0) {
        // With these variables the loader lists what any program needs, and starts nothing.
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        setenv("LD_PRELOAD", library.c_str(), 1);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        execl("/proc/self/exe", "diopi-executor", static_cast<char*>(nullptr));
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    std::string listed;
    char block[4096];
    for (ssize_t bytes = 0; (bytes = read(ends[0], block, sizeof(block))) > 0;) {
        listed.append(block, static_cast<std::size_t>(bytes));
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    std::vector<std::string> folders;
    std::istringstream words(listed);
    for (std::string word; words >> word;) {
        if (word[0] == '/') {
            folders.push_back(surroundings(word));
        }
    }
    return folders;
}

std::vector<std::string> named_paths(std::vector<std::string> paths) {
    for (std::string& path : paths) {
        path = surroundings(path);
    }
    std::error_code error;
    paths.push_back(fs::current_path(error).string());
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (equals == std::string::npos || name == "HOME" || name == "PWD" || name == "OLDPWD") {
            continue;
        }
        std::istringstream values(text.substr(equals + 1));
        for (std::string value; std::getline(values, value, ':');) {
            if (fs::is_directory(value, error) || fs::is_regular_file(value, error)) {
                paths.push_back(value.find(".so") == std::string::npos ? value : surroundings(value));
            }
        }
    }
    return paths;
}

bool hide_home(const std::vector<std::string>& visible) {
    const std::set<std::string> all = homes();
    std::vector<std::pair<int, std::string>> sources;
    std::error_code error;
    for (const std::string& path : visible) {
        const std::set<std::string> names = {fs::path(path).lexically_normal().string(),
                                             fs::canonical(path, error).string()};
        for (const std::string& name : names) {
            for (const std::string& home : all) {
                if (is_below(name, home)) {
                    sources.emplace_back(open(name.c_str(), O_PATH | O_CLOEXEC), name);
                }
            }
        }
    }
    const std::string here = fs::current_path(error).string();
    bool is_done = false;
    for (const std::string& home : all) {
        is_done = mount("tmpfs", home.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 || is_done;
    }
    for (const auto& [source, name] : sources) {
        if (is_done && source >= 0) {
            bind(source, name, fs::is_directory("/proc/self/fd/" + std::to_string(source), error));
        }
        close(source);
    }
    (void)!chdir(here.c_str());  // from where the way up leads to the empty folder
    return is_done;
}

void show_home() {
    for (const std::string& home : homes()) {
        umount2(home.c_str(), MNT_DETACH);
    }
}

}  // namespace diopigen::executor
