// Kernels that spread their work over threads: every index once, one job at a time, exceptions, faults.
#include <diopigen_kernels/parallel.h>
#include <diopigen_sim/launch.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim_test.h"

using simtest::Floats;
using simtest::Stream;

TEST_CASE("ranges_cover_every_index_once") {
    for (const int64_t count : {0, 1, 7, 8, 9, 1000}) {
        for (const int64_t grain : {1, 8, 999, 1000, 5000}) {
            std::vector<std::atomic<int>> times(static_cast<size_t>(count));
            std::atomic<bool> fits{true};
            kernels::forRanges(count, grain, [&](int64_t first, int64_t last) {
                fits = fits && first < last && last - first <= grain && first % grain == 0;
                for (int64_t i = first; i < last; ++i) {
                    ++times[static_cast<size_t>(i)];
                }
            });
            CHECK(fits);
            for (const std::atomic<int>& each : times) {
                CHECK(each == 1);
            }
        }
    }
}

TEST_CASE("ranges_within_ranges_and_of_several_threads") {
    std::atomic<int64_t> sum{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                kernels::forRanges(10, 1, [&](int64_t first, int64_t) {
                    kernels::forRanges(first, 2, [&](int64_t begin, int64_t end) { sum += end - begin; });
                });
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(sum == 3 * 50 * 45);
}

TEST_CASE("an_exception_of_a_range_is_the_callers") {
    std::atomic<int> ran{0};
    CHECK_THROWS_AS(kernels::forRanges(8, 1,
                                       [&](int64_t first, int64_t) {
                                           ++ran;
                                           if (first % 2 == 1) {
                                               throw std::out_of_range("odd");
                                           }
                                       }),
                    std::out_of_range);
    CHECK(ran == 8);
    kernels::forRanges(8, 1, [&](int64_t, int64_t) { ++ran; });
    CHECK(ran == 16);
}

TEST_CASE("a_kernel_of_several_threads_fails_its_stream_once") {
    const Stream stream(0);
    const Floats memory(8);
    CHECK_OK(sim::launch(stream, "ranges", {sim::writes(memory.get(), memory.bytes())}, [](const sim::Kernel& k) {
        float* const to = k.out<float>(0);
        kernels::forRanges(8, 1, [to](int64_t first, int64_t) {
            to[first] = static_cast<float>(first);
            if (first == 5) {
                throw std::runtime_error("five");
            }
        });
    }));
    const sim::Status status = sim::synchronize(stream);
    CHECK(status.code() == sim::Code::kernelFailed);
    CHECK(status.text().find("ranges") != std::string::npos);
    CHECK(status.text().find("five") != std::string::npos);
    CHECK_OK(sim::synchronize(stream));
    CHECK(memory.values(stream) == std::vector<float>({0, 1, 2, 3, 4, 5, 6, 7}));
}
