#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // unshare
#endif
#include "sandbox.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "home.h"
#include "rights.h"

namespace diopigen::executor {

namespace {

std::string scratch;
volatile pid_t inner = -1;
constexpr int kOpenFolders = 16;

int remove_entry(const char* path, const struct stat*, int, FTW*) {
    remove(path);
    return 0;
}

void remove_scratch() {
    show_home();
    if (!scratch.empty()) {
        umount2(scratch.c_str(), MNT_DETACH);  // with all that is in it, where it has a mount of its own
        nftw(scratch.c_str(), remove_entry, kOpenFolders, FTW_DEPTH | FTW_PHYS);
    }
}

/// Asked to end: with all that was started.
void end_inner(int) {
    if (inner <= 0) {
        _exit(EXIT_FAILURE);
    }
    kill(inner, SIGKILL);
}

bool wrote(const char* path, const std::string& text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_done = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) {
        close(file);
    }
    return is_done;
}

/// Waits for one child, and for all that are left behind on the way.
int status_of(pid_t child) {
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended == child) {
            return status;
        }
        if (ended < 0 && errno != EINTR) {
            return 0;
        }
    }
}

[[noreturn]] void end_as(int status) {
    remove_scratch();
    if (WIFSIGNALED(status)) {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/// A user of its own, who may do in its namespaces what root may, and outside what the caller may.
bool new_namespaces(bool is_offline) {
    const uid_t user = geteuid();
    const gid_t users = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | (is_offline ? CLONE_NEWNET : 0)) != 0) {
        return false;
    }
    wrote("/proc/self/setgroups", "deny");
    wrote("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
    wrote("/proc/self/gid_map", std::to_string(users) + " " + std::to_string(users) + " 1");
    return true;
}

/// Bytes of memory that a process may have; 0 for any.
std::uint64_t memory_limit() {
    rlimit limit{};
    return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

/// Resident bytes of a process in /proc, without those of files: RLIMIT_DATA does not count what is shared.
std::uint64_t resident_bytes(const std::filesystem::path& process) {
    std::ifstream file(process / "status");
    std::uint64_t bytes = 0;
    constexpr std::uint64_t kUnit = 1024;
    for (std::string line; std::getline(file, line);) {
        for (const std::string name : {"RssAnon:", "RssShmem:"}) {
            bytes +=
                line.compare(0, name.size(), name) == 0 ? kUnit * std::strtoull(&line[name.size()], nullptr, 10) : 0;
        }
    }
    return bytes;
}

/// Returns whether a process of the inner namespace has more than it may; false where this /proc is not of that one, in
/// which this process is not.
bool has_too_much(std::uint64_t limit) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (!fs::read_symlink("/proc/self", error).empty() || !error) {
        return false;
    }
    error.clear();
    for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
        if (std::isdigit(entry->path().filename().native()[0]) != 0 && resident_bytes(entry->path()) > limit) {
            return true;
        }
    }
    return false;
}

/// Waits for the first process of the namespace, which has it end where one takes too much memory.
int watched_status_of(pid_t child) {
    const std::uint64_t limit = memory_limit();
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ending, nullptr);
    constexpr timespec kPeriod{0, 50'000'000};
    bool is_over = false;
    for (int status = 0;;) {
        if (waitpid(child, &status, WNOHANG) == child) {
            return status;
        }
        sigtimedwait(&ending, nullptr, &kPeriod);
        if (limit > 0 && !is_over && has_too_much(limit)) {
            is_over = true;
            dprintf(2, "a process has more memory than the limit of %llu MiB\n",
                    static_cast<unsigned long long>(limit >> 20));
            kill(child, SIGKILL);
        }
    }
}

/// Mounts of this process alone: its own processes in /proc, and shared memory that ends with it.
void own_mounts(std::vector<std::string>* names) {
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) {
        names->emplace_back("own /proc");
    }
    const std::uint64_t limit = memory_limit();
    const std::string size = limit > 0 ? "size=" + std::to_string(limit) : "";
    if (mount("tmpfs", kSharedMemory, "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) == 0) {
        names->emplace_back("own /dev/shm");
    }
    if (!scratch.empty() && mount("tmpfs", scratch.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) == 0) {
        names->emplace_back("own $TMPDIR");
    }
}

}  // namespace

std::string temporary_folder() {
    const char* const set = std::getenv("TMPDIR");
    std::string name = std::string(set == nullptr || *set == '\0' ? "/tmp" : set) + "/diopi-executor-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) {
        scratch = name;
        setenv("TMPDIR", scratch.c_str(), 1);
    }
    return scratch;
}

std::vector<std::string> separate(std::uint8_t bits, const std::vector<std::string>& visible) {
    std::vector<std::string> names;
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // as where it is asked to end: its folder is removed
    struct sigaction ending {};
    ending.sa_handler = end_inner;
    sigaction(SIGTERM, &ending, nullptr);
    const bool is_apart = new_namespaces((bits & kNetwork) == 0);
    int statuses[2] = {-1, -1};
    if (pipe2(statuses, O_CLOEXEC) != 0) {
        return names;
    }
    const pid_t first = fork();
    if (first < 0) {
        return names;
    }
    if (first > 0) {
        inner = first;
        close(statuses[1]);
        int status = watched_status_of(first);
        int reported = 0;
        // The first process of a namespace cannot end by a signal of its own: it says how the second one ended.
        if (!WIFSIGNALED(status) && read(statuses[0], &reported, sizeof(reported)) == sizeof(reported)) {
            status = reported;
        }
        end_as(status);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    close(statuses[0]);
    if (is_apart) {
        names.emplace_back("user, process and IPC namespaces");
        own_mounts(&names);
        if ((bits & kNetwork) == 0) {
            names.emplace_back("no network");
        }
        if ((bits & kHome) == 0 && hide_home(visible)) {
            names.emplace_back("empty $HOME");
        }
    }
    const pid_t second = fork();
    if (second > 0) {
        for (int descriptor = 0; descriptor <= 2; ++descriptor) {
            close(descriptor);  // else the streams stay open when the second process has closed them
        }
        const int status = status_of(second);
        (void)!write(statuses[1], &status, sizeof(status));
        _exit(EXIT_SUCCESS);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(statuses[1]);
    if (is_apart) {
        drop_capabilities();
    }
    return names;
}

}  // namespace diopigen::executor
