// The SIGSEGV handler. Only what is safe in a signal handler: no allocation, no lock, write(2).
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "allocation.h"
#include "arena.h"
#include "fault.h"

namespace diopigen::sim {
namespace {

// The model keeps the first access of a thread, which may happen in the handler, from allocating.
__attribute__((tls_model("initial-exec"))) thread_local Running running_here;
__attribute__((tls_model("initial-exec"))) thread_local void* signal_stack = nullptr;

constexpr std::size_t kSignalStackBytes = 64 * 1024;

struct sigaction previous;

/// " read" or " write" where the processor says so.
const char* access_of(const void* context) {
#if defined(__x86_64__)
    const auto* const machine = static_cast<const ucontext_t*>(context);
    return (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "write" : "read";
#else
    (void)context;
    return "access";
#endif
}

void describe(Text& text, const Location& location, const Allocation* allocation) {
    if (allocation == nullptr) {
        text << "  it belongs to device " << location.device << ", to no allocation\n";
        return;
    }
    const uint64_t offset = location.address - allocation->base;
    if (allocation->contains(location.address)) {
        text << "  it is byte " << offset << " of " << *allocation;
        text << (allocation->state == Allocation::kFreed ? ", which was freed\n" : "\n");
    } else {
        text << "  it lies " << offset - allocation->bytes << " bytes behind the end of " << *allocation << "\n";
    }
}

/// Returns to the instruction at fault, which then ends the process as it would have without a handler, with a core
/// dump of that place.
void end_process(int number) {
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;
    sigaction(number, &fallback, nullptr);
}

void explain(const Location& location, uintptr_t address, const void* context) {
    const Allocation* const allocation = allocations::find(location.address, location.low, location.high);
    const bool in_kernel = running_here.name != nullptr;
    const bool was_freed =
        allocation != nullptr && allocation->state == Allocation::kFreed && allocation->contains(location.address);
    const char* title = "host access to device memory";
    const char* fix = "copy the memory to the host, and synchronise the stream, before the host uses it";
    if (in_kernel && !location.in_kernel_view) {
        title = "kernel uses a device pointer of the host's";
        fix = "name the memory as a buffer of the launch, and take the pointer from Kernel::in or Kernel::out";
    } else if (location.in_kernel_view) {
        title = was_freed ? "use after free in a kernel" : "kernel reaches beyond its memory";
        fix = was_freed ? "synchronise the stream before the memory is freed"
                        : "correct the kernel's index, or the size that the memory was allocated with";
    }
    if (allocation != nullptr) {
        write_origin(STDERR_FILENO, *allocation);
    }
    Text text;
    text << "diopi-sim: " << title << ": " << access_of(context) << " at ";
    text.address(address);
    if (in_kernel) {
        text << " by " << running_here.name << " on stream " << running_here.stream;
    }
    text << "\n";
    describe(text, location, allocation);
    (text << "  fix: " << fix << "\n").write_to(STDERR_FILENO);
}

void pass_on(int number, siginfo_t* info, void* context) {
    if ((previous.sa_flags & SA_SIGINFO) != 0) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else if (info->si_code > 0) {
        end_process(number);
    } else if (previous.sa_handler == SIG_DFL) {  // sent by a process: no instruction would raise it again
        end_process(number);
        raise(number);
    }
}

void handle(int number, siginfo_t* info, void* context) {
    static std::atomic<bool> explained{false};
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const Location location = info->si_code > 0 ? location_of(address) : Location{};
    if (location.device < 0) {
        pass_on(number, info, context);
        return;
    }
    if (!explained.exchange(true)) {
        explain(location, address, context);
        end_process(number);
        return;
    }
    // Another thread is explaining: its report is not to be cut short.
    sleep(1);
    end_process(number);
}

/// Keeps the library with the handler loaded: after dlclose the next fault would find no code.
void stay_loaded() {
    Dl_info own{};
    if (dladdr(reinterpret_cast<const void*>(&handle), &own) != 0 && own.dli_fname != nullptr) {
        dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

}  // namespace

void set_running(const Running& now) { running_here = now; }

const Running* running() { return &running_here; }

void install_fault_handler() {
    static std::atomic<bool> installed{false};
    if (installed.exchange(true)) {
        return;
    }
    stay_loaded();
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous);
}

void use_signal_stack() {
    stack_t current{};
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) {
        return;
    }
    void* const memory =
        mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return;  // the handler then runs on the thread's own stack
    }
    stack_t own{};
    own.ss_sp = memory;
    own.ss_size = kSignalStackBytes;
    if (sigaltstack(&own, nullptr) == 0) {
        signal_stack = memory;
    } else {
        munmap(memory, kSignalStackBytes);
    }
}

void drop_signal_stack() {
    if (signal_stack == nullptr) {
        return;
    }
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(signal_stack, kSignalStackBytes);
    signal_stack = nullptr;
}

}  // namespace diopigen::sim
