#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dl_iterate_phdr
#endif
#include "rights.h"

#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace diopigen::executor {

namespace {

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
std::uint64_t writing_of(long version) {
    std::uint64_t rights = kWriteFile;
    for (int bit = 4; bit <= 12; ++bit) {
        rights |= 1ULL << bit;
    }
    rights |= version >= 2 ? 1ULL << 13 : 0;
    rights |= version >= 3 ? kTruncate : 0;
    return rights;
}

/// The devices that are read and written by characters, as those of accelerators are: no disks, and no new entries.
std::vector<std::string> character_devices() {
    namespace fs = std::filesystem;
    std::vector<std::string> found;
    std::error_code error;
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator entry("/dev", kOptions, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        if (entry->path() == kSharedMemory) {
            entry.disable_recursion_pending();
        } else if (fs::is_character_file(entry->symlink_status(ignored))) {
            found.push_back(entry->path());
        }
    }
    return found;
}

bool restrict_files(const std::vector<std::string>& writable, std::string* name) {
    const long version = syscall(kCreateRuleset, nullptr, 0, 1);
    if (version < 1) {
        return false;
    }
    const std::uint64_t writing = writing_of(version);
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
    const std::uint64_t of_file = writing & (kWriteFile | kTruncate);
    for (const std::string& path : writable) {
        std::error_code ignored;
        allow(path, std::filesystem::is_directory(path, ignored) ? writing : of_file);
    }
    for (const std::string& device : character_devices()) {
        allow(device, of_file);
    }
    const bool is_done = syscall(kRestrictSelf, ruleset, 0) == 0;
    close(static_cast<int>(ruleset));
    *name = "Landlock " + std::to_string(version);
    return is_done;
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

// Of newer systems than the headers may be; the system calls have these numbers everywhere.
constexpr std::uint32_t kSubmitCalls = 425;  // io_uring_setup: calls that no filter sees
constexpr std::uint32_t kSeal = 462;

/// What outlives a process, or reaches into another one: keys, mounts, namespaces, programs in the kernel. The first of
/// the numbers without names are the newer calls for mounts.
constexpr std::uint32_t kRejected[] = {
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_settimeofday,
    SYS_clock_settime,
    428,
    429,
    430,
    431,
    432,
    433,
    442,
    kSubmitCalls,
};

bool reject_calls(std::uint8_t bits) {
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
    std::vector<std::uint32_t> rejected(std::begin(kRejected), std::end(kRejected));
    if ((bits & kPrograms) == 0) {
        rejected.insert(rejected.end(), {SYS_execve, SYS_execveat});
    }
    if ((bits & kNetwork) == 0) {
        rejected.push_back(SYS_connect);
    }
    for (const std::uint32_t number : rejected) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        reject();
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

std::vector<std::string> confine(const std::vector<std::string>& writable, std::uint8_t bits) {
    std::vector<std::string> names;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return names;
    }
    std::string name;
    if (restrict_files(writable, &name)) {
        names.push_back(name);
    }
    if (reject_calls(bits)) {
        names.emplace_back("seccomp");
        if ((bits & kPrograms) == 0) {
            names.emplace_back("no programs");
        }
        if ((bits & kNetwork) == 0) {
            names.emplace_back("no connections");
        }
    }
    if (seal_code()) {
        names.emplace_back("sealed code");
    }
    return names;
}

void drop_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    syscall(SYS_capset, &header, none);
}

bool seal_code() {
    bool is_done = false;
    const auto seal = [](dl_phdr_info* object, std::size_t, void* done) {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (int k = 0; k < object->dlpi_phnum; ++k) {
            const ElfW(Phdr)& segment = object->dlpi_phdr[k];
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
                const std::uintptr_t start = (object->dlpi_addr + segment.p_vaddr) / page * page;
                const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
                const std::uintptr_t pages = (end - start + page - 1) / page * page;
                *static_cast<bool*>(done) |= syscall(kSeal, start, pages, 0) == 0;
            }
        }
        return 0;
    };
    dl_iterate_phdr(seal, &is_done);
    return is_done;
}

}  // namespace diopigen::executor
