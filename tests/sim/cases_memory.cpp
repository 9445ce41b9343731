// Allocation, the cache, the limit, and the faults of a host that come back as statuses.
#include <set>
#include <thread>

#include "sim_test.h"

using simtest::Floats;
using simtest::Stream;

namespace {

sim::MemoryUse use(int device = 0) {
    sim::MemoryUse found;
    CHECK_OK(sim::memoryUse(device, &found));
    return found;
}

void* allocated(uint64_t bytes, int device = 0) {
    void* pointer = nullptr;
    CHECK_OK(sim::allocate(device, bytes, &pointer));
    return pointer;
}

}  // namespace

TEST_CASE("allocations_are_aligned_and_apart") {
    std::set<uintptr_t> starts;
    std::vector<void*> pointers;
    for (const uint64_t bytes : {0, 1, 511, 512, 513, 100000, 0}) {
        pointers.push_back(allocated(bytes));
        const auto address = reinterpret_cast<uintptr_t>(pointers.back());
        CHECK(address != 0);
        CHECK_EQ(address % 512, 0u);
        CHECK(starts.insert(address).second);
    }
    for (void* const pointer : pointers) {
        CHECK_OK(sim::release(pointer));
    }
    CHECK_OK(sim::release(nullptr));
    CHECK_EQ(use().liveAllocations, 0u);
    CHECK_EQ(use().liveBytes, 0u);
    CHECK_EQ(use().peakBytes, 3 * 512u + 512 + 1024 + 100352 + 512);
}

TEST_CASE("the_cache_hands_out_memory_of_the_same_size") {
    void* const first = allocated(1000);
    CHECK_OK(sim::release(first));
    CHECK_EQ(use().cachedBytes, 1024u);
    void* const other = allocated(5000);
    CHECK(other != first);
    CHECK_EQ(use().cacheHits, 0u);
    void* const again = allocated(700);  // 1024 bytes as well, rounded up
    CHECK(again == first);
    CHECK_EQ(use().cacheHits, 1u);
    CHECK_EQ(use().cachedBytes, 0u);
    CHECK_OK(sim::release(again));
    CHECK_OK(sim::release(other));
    CHECK_OK(sim::emptyCache(0));
    CHECK_EQ(use().cachedBytes, 0u);
    CHECK_EQ(use(1).peakBytes, 0u);
}

TEST_CASE("an_emptied_cache_has_given_the_memory_back") {
    const Stream stream;
    {
        const Floats used(1 << 20);
        used.set(stream, std::vector<float>(1 << 20, 3.0f));
    }
    CHECK_OK(sim::emptyCache(0));
    const Floats fresh(1 << 20);
    CHECK(fresh.values(stream) == std::vector<float>(1 << 20, 0.0f));
}

// With DIOPI_SIM_MEMORY=1M.
TEST_CASE("the_limit_is_a_status") {
    void* const half = allocated(512 * 1024);
    void* none = &none;
    CHECK_FAILS(sim::allocate(0, 512 * 1024 + 1, &none), outOfMemory,
                "out of memory on device 0: 524289 bytes asked for, 524288 of 1048576 free, 1 allocations alive");
    CHECK(none == nullptr);
    CHECK_FAILS(sim::allocate(0, ~uint64_t{0}, &none), outOfMemory,
                "out of memory on device 0: 18446744073709551615 bytes asked for, 524288 of 1048576 free, "
                "1 allocations alive");
    void* const rest = allocated(512 * 1024);
    void* const elsewhere = allocated(1024 * 1024, 1);
    CHECK_OK(sim::release(half));
    CHECK_OK(sim::release(rest));
    void* const whole = allocated(1024 * 1024);  // the cached halves are joined for it
    CHECK((whole == half || whole == rest));
    CHECK_OK(sim::release(whole));
    CHECK_OK(sim::release(elsewhere));
}

// With DIOPI_SIM_MEMORY=2K.
TEST_CASE("memory_in_pieces_is_said_to_be_so") {
    void* pieces[4];
    for (void*& piece : pieces) {
        piece = allocated(512);
    }
    CHECK_OK(sim::release(pieces[0]));
    CHECK_OK(sim::release(pieces[2]));
    void* none = nullptr;
    CHECK_FAILS(sim::allocate(0, 1024, &none), outOfMemory,
                "out of memory on device 0: 1024 bytes asked for, 1024 of 2048 free, 2 allocations alive, "
                "none of the free pieces large enough");
    CHECK_OK(sim::release(pieces[1]));
    CHECK_OK(sim::release(pieces[3]));
}

TEST_CASE("faults_are_statuses_without_the_check") {
    const Stream stream;
    void* const memory = allocated(4096);
    void* const elsewhere = allocated(64, 1);
    float host[4] = {};
    CHECK_FAILS(sim::release(static_cast<char*>(memory) + 512), invalidPointer,
                "free of a pointer into memory: free of 0x#, where no allocation starts; "
                "allocation #1 (4096 bytes on device 0 at 0x#)");
    CHECK_FAILS(sim::release(host), invalidPointer,
                "free of no device memory: free of 0x#, which no device has allocated");
    CHECK_FAILS(sim::copyToDevice(stream, elsewhere, host, 16), wrongDevice,
                "wrong device: copy to device: the destination is 0x#, memory of device 1, in work for device 0; "
                "allocation #2 (64 bytes on device 1 at 0x#)");
    CHECK_FAILS(sim::copyToDevice(stream, memory, elsewhere, 16), invalidPointer,
                "copy to device: the source is memory of device 1");
    CHECK_FAILS(sim::copyToHost(stream, host, host, 16), invalidPointer,
                "no device memory: copy to host: the source is 0x#, which no device has allocated");
    CHECK_FAILS(sim::copyToHost(stream, host, static_cast<char*>(memory) + 4090, 16), invalidPointer,
                "range beyond an allocation: copy to host: the source is 16 bytes from byte 4090 on; "
                "allocation #1 (4096 bytes on device 0 at 0x#)");
    CHECK_FAILS(sim::copyToHost(stream, host, static_cast<char*>(memory) + (1 << 20), 16), invalidPointer,
                "no allocation: copy to host: the source is 0x#, in no allocation");
    CHECK_FAILS(sim::copyToHost(stream, nullptr, memory, 16), invalidArgument, "copy to host: the destination is null");
    CHECK_OK(sim::copyToHost(stream, nullptr, nullptr, 0));
    CHECK_OK(sim::release(memory));
    CHECK_FAILS(sim::release(memory), invalidPointer,
                "double free: free of 0x#, which was freed before; allocation #1 (4096 bytes on device 0 at 0x#)");
    CHECK_FAILS(sim::copyOnDevice(stream, memory, memory, 16), invalidPointer,
                "use after free: copy on device: the source is 0x#, in memory that was freed; "
                "allocation #1 (4096 bytes on device 0 at 0x#)");
    CHECK_EQ(sim::deviceOf(elsewhere), 1);
    CHECK_EQ(sim::deviceOf(host), -1);
    CHECK_FAILS(sim::finish(), invalidPointer, "leak: 1 allocations with 64 bytes were never freed");
    CHECK_OK(sim::release(elsewhere));
    CHECK_OK(sim::finish());
}

TEST_CASE("devices_are_told_apart") {
    CHECK_EQ(sim::deviceCount(), 2);
    CHECK_EQ(sim::currentDevice(), 0);
    CHECK_OK(sim::setCurrentDevice(1));
    CHECK_EQ(sim::currentDevice(), 1);
    std::thread([] { CHECK_EQ(sim::currentDevice(), 0); }).join();
    CHECK_FAILS(sim::setCurrentDevice(2), invalidArgument, "there is no device 2 among the 2 of DIOPI_SIM_DEVICES");
    void* pointer = nullptr;
    CHECK_FAILS(sim::allocate(-1, 8, &pointer), invalidArgument,
                "there is no device -1 among the 2 of DIOPI_SIM_DEVICES");
    CHECK_FAILS(sim::allocate(0, 8, nullptr), invalidArgument, "allocate: the place for the pointer is null");
}

TEST_CASE("threads_allocate_at_once") {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([thread] {
            const Stream stream(thread % 2);
            for (int round = 0; round < 25; ++round) {
                const auto count = static_cast<uint64_t>(100 + 37 * ((round * 7 + thread) % 5));
                const Floats memory(count, thread % 2);
                const std::vector<float> wanted(count, static_cast<float>(thread * 1000 + round));
                memory.set(stream, wanted);
                CHECK(memory.values(stream) == wanted);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK_EQ(use(0).liveAllocations + use(1).liveAllocations, 0u);
}

// With an environment that cannot be read: its text goes to standard output.
TEST_CASE("the_environment_is_read") {
    const sim::Status status = sim::initialize();
    CHECK_EQ(sim::deviceCount() == 0, !status.ok());
    void* pointer = nullptr;
    CHECK_EQ(sim::allocate(0, 8, &pointer).text(), status.text());
    if (pointer != nullptr) {
        CHECK_OK(sim::release(pointer));
    }
    std::printf("<%s>\n", status.text().c_str());
}
