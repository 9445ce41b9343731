#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // unshare
#endif
#include "sandbox.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace diopigen::executor {

namespace {

constexpr const char* kSharedMemory = "/dev/shm";
std::string scratch;
volatile pid_t inner = -1;
constexpr int kOpenFolders = 16;

int removeEntry(const char* path, const struct stat*, int, FTW*) {
    remove(path);
    return 0;
}

void removeScratch() {
    if (!scratch.empty()) {
        umount2(scratch.c_str(), MNT_DETACH);  // with all that is in it, where it has a mount of its own
        nftw(scratch.c_str(), removeEntry, kOpenFolders, FTW_DEPTH | FTW_PHYS);
    }
}

/// Asked to end: with all that was started.
void endInner(int) {
    if (inner <= 0) {
        _exit(EXIT_FAILURE);
    }
    kill(inner, SIGKILL);
}

bool wrote(const char* path, const std::string& text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool isDone = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) {
        close(file);
    }
    return isDone;
}

/// Waits for one child, and for all that are left behind on the way.
int statusOf(pid_t child) {
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

[[noreturn]] void endAs(int status) {
    removeScratch();
    if (WIFSIGNALED(status)) {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/// A user of its own, who may do in its namespaces what root may, and outside what the caller may.
bool newNamespaces() {
    const uid_t user = geteuid();
    const gid_t users = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS) != 0) {
        return false;
    }
    wrote("/proc/self/setgroups", "deny");
    wrote("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
    wrote("/proc/self/gid_map", std::to_string(users) + " " + std::to_string(users) + " 1");
    return true;
}

/// Mounts of this process alone: its own processes in /proc, and shared memory that ends with it.
void ownMounts(std::vector<std::string>* names) {
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) {
        names->emplace_back("own /proc");
    }
    if (mount("tmpfs", kSharedMemory, "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0) {
        names->emplace_back("own /dev/shm");
    }
    if (!scratch.empty() && mount("tmpfs", scratch.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0) {
        names->emplace_back("own $TMPDIR");
    }
}

// ---- Landlock -------------------------------------------------------------------------------------------------------
// Constants of linux/landlock.h, which older systems do not have; the system calls have these numbers everywhere.

constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr std::uint64_t kWriteFile = 1ULL << 1;
constexpr std::uint64_t kTruncate = 1ULL << 14;

struct Ruleset {
    std::uint64_t files;
    std::uint64_t network;
    std::uint64_t scoped;
};

struct __attribute__((packed)) BelowPath {
    std::uint64_t allowed;
    std::int32_t folder;
};

/// Removing and making of entries, moving them (from version 2), cutting them off (from version 3).
std::uint64_t writingOf(long version) {
    std::uint64_t rights = kWriteFile;
    for (int bit = 4; bit <= 12; ++bit) {
        rights |= 1ULL << bit;
    }
    rights |= version >= 2 ? 1ULL << 13 : 0;
    rights |= version >= 3 ? kTruncate : 0;
    return rights;
}

std::vector<std::string> devices;

int addDevice(const char* path, const struct stat* status, int kind, FTW*) {
    if (kind == FTW_F && S_ISCHR(status->st_mode)) {
        devices.emplace_back(path);
    }
    return 0;
}

bool isFolder(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool restrictFiles(const std::vector<std::string>& writable, std::string* name) {
    const long version = syscall(kCreateRuleset, nullptr, 0, 1);
    if (version < 1) {
        return false;
    }
    const std::uint64_t writing = writingOf(version);
    // From version 6: no signals and no abstract sockets to other processes. Before, the structure is shorter.
    const Ruleset rules{writing, 0, version >= 6 ? 3ULL : 0ULL};
    const std::size_t bytes = version >= 6 ? sizeof(rules) : sizeof(rules.files);
    const long ruleset = syscall(kCreateRuleset, &rules, bytes, 0);
    if (ruleset < 0) {
        return false;
    }
    const auto allow = [&](const std::string& path, std::uint64_t rights) {
        const int folder = open(path.c_str(), O_PATH | O_CLOEXEC);
        if (folder >= 0) {
            const BelowPath rule{rights, folder};
            syscall(kAddRule, ruleset, 1, &rule, 0);
            close(folder);
        }
    };
    const std::uint64_t ofFile = writing & (kWriteFile | kTruncate);
    for (const std::string& path : writable) {
        allow(path, isFolder(path) ? writing : ofFile);
    }
    // The devices that are read and written by characters, as those of accelerators are: no disks, and no new entries.
    nftw("/dev", addDevice, kOpenFolders, FTW_PHYS);
    for (const std::string& device : devices) {
        allow(device, ofFile);
    }
    const bool isDone = syscall(kRestrictSelf, ruleset, 0) == 0;
    close(static_cast<int>(ruleset));
    *name = "Landlock " + std::to_string(version);
    return isDone;
}

// ---- seccomp --------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__riscv)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_RISCV64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

/// What outlives a process, or reaches into another one: keys, mounts, namespaces, programs in the kernel.
constexpr std::uint32_t kRejected[] = {
    SYS_add_key,         SYS_request_key,      SYS_keyctl,
    SYS_mount,           SYS_umount2,          SYS_pivot_root,
    SYS_setns,           SYS_unshare,          SYS_bpf,
    SYS_perf_event_open, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_reboot,          SYS_swapon,           SYS_swapoff,
    SYS_init_module,     SYS_finit_module,     SYS_delete_module,
    SYS_kexec_load,      SYS_settimeofday,     SYS_clock_settime,
};

bool rejectCalls() {
    if (kArchitecture == 0) {
        return false;
    }
    std::vector<sock_filter> program;
    const auto load = [&](std::size_t offset) {
        program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
    };
    const auto reject = [&] { program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)); };
    load(offsetof(seccomp_data, arch));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    reject();  // calls of another architecture, which have other numbers
    load(offsetof(seccomp_data, nr));
    for (const std::uint32_t number : kRejected) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        reject();
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

std::string temporaryFolder() {
    const char* const set = std::getenv("TMPDIR");
    std::string name = std::string(set == nullptr || *set == '\0' ? "/tmp" : set) + "/diopi-executor-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) {
        scratch = name;
        setenv("TMPDIR", scratch.c_str(), 1);
    }
    return scratch;
}

std::vector<std::string> separate() {
    std::vector<std::string> names;
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // as where it is asked to end: its folder is removed
    struct sigaction ending {};
    ending.sa_handler = endInner;
    sigaction(SIGTERM, &ending, nullptr);
    const bool isApart = newNamespaces();
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
        int status = statusOf(first);
        int reported = 0;
        // The first process of a namespace cannot end by a signal of its own: it says how the second one ended.
        if (!WIFSIGNALED(status) && read(statuses[0], &reported, sizeof(reported)) == sizeof(reported)) {
            status = reported;
        }
        endAs(status);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    close(statuses[0]);
    if (isApart) {
        names.emplace_back("user, process and IPC namespaces");
        ownMounts(&names);
    }
    const pid_t second = fork();
    if (second > 0) {
        for (int descriptor = 0; descriptor <= 2; ++descriptor) {
            close(descriptor);  // else the streams stay open when the second process has closed them
        }
        const int status = statusOf(second);
        (void)!write(statuses[1], &status, sizeof(status));
        _exit(EXIT_SUCCESS);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(statuses[1]);
    return names;
}

std::vector<std::string> confine(const std::vector<std::string>& writable) {
    std::vector<std::string> names;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return names;
    }
    std::string name;
    if (restrictFiles(writable, &name)) {
        names.push_back(name);
    }
    if (rejectCalls()) {
        names.emplace_back("seccomp");
    }
    return names;
}

}  // namespace diopigen::executor
