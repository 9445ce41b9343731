// Programs with one fault each. The fault ends them, or their exit status tells.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "sim_test.h"

TEST_SUITE_BEGIN("faults");

using simtest::addScalar;
using simtest::Floats;
using simtest::Stream;

// By name in the stacks of reports.
extern "C" __attribute__((noinline)) void* makeTheMemory(uint64_t bytes, int device) {
    void* pointer = nullptr;
    CHECK_OK(sim::allocate(device, bytes, &pointer));
    return pointer;
}

extern "C" __attribute__((noinline)) void freeTheMemory(void* pointer) { CHECK_OK(sim::release(pointer)); }

namespace {

void surviving(const char* what) {
    std::printf("still alive after %s\n", what);
    std::fflush(stdout);
}

/// A kernel on one buffer that does something to it.
sim::Status onFloats(sim::StreamHandle stream, void* pointer, uint64_t bytes, void (*body)(float*)) {
    return sim::launch(stream, "diopiFill", {sim::writes(pointer, bytes)},
                       [body](const sim::Kernel& kernel) { body(kernel.out<float>(0)); });
}

volatile float sink;

}  // namespace

TEST_CASE("host_reads_device_memory") {
    makeTheMemory(64, 0);
    auto* const memory = static_cast<volatile float*>(makeTheMemory(4096, 1));
    sink = memory[3];
    surviving("the read");
}

TEST_CASE("host_writes_device_memory") {
    auto* const memory = static_cast<volatile float*>(makeTheMemory(4096, 0));
    memory[1] = 1.0f;
    surviving("the write");
}

TEST_CASE("host_thread_reads_device_memory") {
    auto* const memory = static_cast<volatile float*>(makeTheMemory(4096, 0));
    std::thread([memory] { sink = memory[0]; }).join();
    surviving("the read");
}

TEST_CASE("host_reads_device_memory_while_a_kernel_runs") {
    const Stream stream;
    void* const memory = makeTheMemory(4096, 0);
    CHECK_OK(onFloats(stream, memory, 4096, [](float*) { simtest::sleepMilliseconds(2000); }));
    simtest::sleepMilliseconds(50);
    sink = *static_cast<volatile float*>(memory);
    surviving("the read");
}

TEST_CASE("host_reads_freed_memory") {
    void* const memory = makeTheMemory(4096, 0);
    freeTheMemory(memory);
    sink = *static_cast<volatile float*>(memory);
    surviving("the read");
}

TEST_CASE("host_reads_where_nothing_was_allocated") {
    auto* const memory = static_cast<volatile char*>(makeTheMemory(512, 0));
    sink = memory[1 << 20];
    surviving("the read");
}

TEST_CASE("kernel_uses_a_captured_pointer") {
    const Stream stream;
    void* const memory = makeTheMemory(64, 0);
    void* const other = makeTheMemory(64, 0);
    CHECK_OK(sim::launch(stream, "diopiFill", {sim::writes(memory, 64)},
                         [other](const sim::Kernel&) { *static_cast<volatile float*>(other) = 1.0f; }));
    CHECK_OK(sim::synchronize(stream));
    surviving("the kernel");
}

TEST_CASE("kernel_reaches_beyond_its_memory") {
    const Stream stream;
    void* const memory = makeTheMemory(4096, 0);
    CHECK_OK(onFloats(stream, memory, 4096, [](float* values) { static_cast<volatile float*>(values)[1024] = 1; }));
    CHECK_OK(sim::synchronize(stream));
    surviving("the kernel");
}

TEST_CASE("kernel_writes_just_behind_its_memory") {
    const Stream stream;
    void* const memory = makeTheMemory(100, 0);
    CHECK_OK(onFloats(stream, memory, 100, [](float* values) { static_cast<volatile float*>(values)[25] = 1; }));
    CHECK_OK(sim::synchronize(stream));
    freeTheMemory(memory);
    surviving("the free");
}

TEST_CASE("kernel_keeps_a_pointer_to_freed_memory") {
    static float* kept = nullptr;
    const Stream stream;
    void* const memory = makeTheMemory(4096, 0);
    CHECK_OK(onFloats(stream, memory, 4096, [](float* values) { kept = values; }));
    CHECK_OK(sim::synchronize(stream));
    freeTheMemory(memory);
    CHECK_OK(
        sim::launch(stream, "diopiLate", {}, [](const sim::Kernel&) { sink = static_cast<volatile float*>(kept)[2]; }));
    CHECK_OK(sim::synchronize(stream));
    surviving("the kernel");
}

TEST_CASE("double_free") {
    void* const memory = makeTheMemory(4096, 1);
    freeTheMemory(memory);
    freeTheMemory(memory);
    surviving("the second free");
}

TEST_CASE("use_after_free") {
    const Stream stream;
    void* const memory = makeTheMemory(4096, 0);
    freeTheMemory(memory);
    CHECK_OK(onFloats(stream, memory, 64, [](float*) {}));
    surviving("the launch");
}

TEST_CASE("free_under_a_queued_kernel") {
    const Stream stream;
    void* const memory = makeTheMemory(4096, 0);
    CHECK_OK(sim::launch(stream, "diopiWait", {}, [](const sim::Kernel&) { simtest::sleepMilliseconds(200); }));
    CHECK_OK(onFloats(stream, memory, 64, [](float*) {}));
    freeTheMemory(memory);
    CHECK_OK(sim::synchronize(stream));
    surviving("the kernel");
}

TEST_CASE("wrong_device") {
    const Stream stream(1);
    void* const memory = makeTheMemory(4096, 0);
    CHECK_OK(onFloats(stream, static_cast<char*>(memory) + 512, 64, [](float*) {}));
    surviving("the launch");
}

TEST_CASE("leak") {
    makeTheMemory(100, 0);
    void* const freed = makeTheMemory(200, 0);
    makeTheMemory(300, 1);
    freeTheMemory(freed);
}

TEST_CASE("no_leak") {
    const Stream stream;
    const Floats a(100);
    const Floats b(100);
    a.set(stream, std::vector<float>(100, 1.0f));
    CHECK_OK(addScalar(stream, b, a, 1));
    CHECK(b.values(stream) == std::vector<float>(100, 2.0f));
}

namespace {

void earlierHandler(int, siginfo_t* info, void*) {
    char text[] = "earlier handler: 0x0\n";
    text[19] = static_cast<char>('0' + reinterpret_cast<uintptr_t>(info->si_addr) % 10);
    (void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(7);
}

}  // namespace

TEST_CASE("foreign_fault_with_an_earlier_handler") {
    struct sigaction action {};
    action.sa_sigaction = earlierHandler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    CHECK_OK(sim::initialize());
    sink = *reinterpret_cast<volatile char*>(uintptr_t{8});
    surviving("the read");
}

TEST_CASE("foreign_fault_without_an_earlier_handler") {
    CHECK_OK(sim::initialize());
    sink = *reinterpret_cast<volatile char*>(uintptr_t{8});
    surviving("the read");
}

TEST_CASE("foreign_signal") {
    CHECK_OK(sim::initialize());
    raise(SIGSEGV);
    surviving("the signal");
}

TEST_CASE("many_leaks") {
    for (int i = 0; i < 25; ++i) {
        makeTheMemory(8, i % 2);
    }
}

TEST_CASE("host_reads_after_two_copies") {
    const Stream stream;
    const Floats memory(16);
    memory.set(stream, std::vector<float>(16, 1.0f));
    CHECK(memory.values(stream) == std::vector<float>(16, 1.0f));
    sink = *static_cast<volatile float*>(memory.get());
}

TEST_SUITE_END();
