// Streams and events.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "sim_test.h"

using simtest::addScalar;
using simtest::Event;
using simtest::Floats;
using simtest::sleepMilliseconds;
using simtest::Stream;

namespace {

/// A kernel without buffers.
sim::Status run(sim::StreamHandle stream, std::function<void()> body) {
    return sim::launch(stream, "diopiNothing", {}, [body = std::move(body)](const sim::Kernel&) { body(); });
}

}  // namespace

TEST_CASE("work_of_a_stream_is_done_in_order") {
    const Stream stream;
    const auto seen = std::make_shared<std::vector<int>>();
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(run(stream, [seen, i] { seen->push_back(i); }));
    }
    CHECK_OK(sim::synchronize(stream));
    std::vector<int> wanted(100);
    std::iota(wanted.begin(), wanted.end(), 0);
    CHECK(*seen == wanted);
}

TEST_CASE("the_host_does_not_wait") {
    const Stream stream;
    const auto gate = std::make_shared<std::promise<void>>();
    const auto opened = std::make_shared<std::shared_future<void>>(gate->get_future().share());
    CHECK_OK(run(stream, [opened] { opened->wait(); }));
    const Event event;
    CHECK_OK(sim::recordEvent(event, stream));
    bool done = true;
    CHECK_OK(sim::queryEvent(event, &done));
    CHECK(!done);
    gate->set_value();  // reached although the kernel has not ended: nothing waited for it
    CHECK_OK(sim::synchronizeEvent(event));
    CHECK_OK(sim::queryEvent(event, &done));
    CHECK(done);
}

TEST_CASE("the_host_is_at_most_so_much_ahead") {
    const Stream stream;
    const auto done = std::make_shared<std::atomic<int>>(0);
    constexpr int kQueued = 1024;
    int ahead = 0;
    for (int i = 0; i < 3 * kQueued; ++i) {
        CHECK_OK(run(stream, [done] {
            std::this_thread::yield();
            ++*done;
        }));
        ahead = std::max(ahead, i + 1 - *done);
    }
    CHECK_OK(sim::synchronize(stream));
    CHECK(*done == 3 * kQueued);
    CHECK(ahead <= kQueued + 1);  // one task may be done and not yet counted
}

TEST_CASE("kernels_and_copies_go_round") {
    const Stream stream;
    const Floats from(1000);
    const Floats to(1000);
    const Floats third(1000);
    std::vector<float> values(1000);
    std::iota(values.begin(), values.end(), 0.0f);
    from.set(stream, values);
    CHECK_OK(addScalar(stream, to, from, 0.5f));
    CHECK_OK(sim::copyOnDevice(stream, third.get(), to.get(), to.bytes()));
    CHECK_OK(sim::copyOnDevice(stream, third.get(), third.get() + 1, 999 * sizeof(float)));  // overlapping
    const std::vector<float> found = third.values(stream);
    for (std::size_t i = 0; i < 999; ++i) {
        CHECK_EQ(found[i], static_cast<float>(i) + 1.5f);
    }
    CHECK_EQ(found[999], 999.5f);
}

TEST_CASE("streams_run_at_once") {
    // Each kernel waits until the other one has started: this ends only if both run at the same time.
    const Stream first(0);
    const Stream second(1);
    const auto started = std::make_shared<std::atomic<int>>(0);
    const auto meet = [started] {
        ++*started;
        while (*started < 2) {
            std::this_thread::yield();
        }
    };
    CHECK_OK(run(first, meet));
    CHECK_OK(run(second, meet));
    CHECK_OK(sim::synchronize(first));
    CHECK_OK(sim::synchronize(second));
    CHECK_EQ(started->load(), 2);
}

TEST_CASE("a_stream_waits_for_another") {
    const Stream first;
    const Stream second;
    const auto seen = std::make_shared<std::atomic<int>>(0);
    const Event event;
    CHECK_OK(sim::waitEvent(second, event));  // never recorded: nothing to wait for
    CHECK_OK(run(first, [seen] {
        sleepMilliseconds(50);
        *seen = 1;
    }));
    CHECK_OK(sim::recordEvent(event, first));
    CHECK_OK(sim::waitEvent(second, event));
    CHECK_OK(run(second, [seen] { *seen = *seen == 1 ? 2 : -1; }));
    CHECK_OK(sim::synchronize(second));
    CHECK_EQ(seen->load(), 2);
}

TEST_CASE("a_waiting_stream_keeps_the_recording_it_waits_for") {
    const Stream first;
    const Stream second;
    const auto gate = std::make_shared<std::promise<void>>();
    const auto opened = std::make_shared<std::shared_future<void>>(gate->get_future().share());
    {
        const Event event;
        CHECK_OK(sim::recordEvent(event, first));
        CHECK_OK(sim::waitEvent(second, event));
        CHECK_OK(run(first, [opened] { opened->wait(); }));
        CHECK_OK(sim::recordEvent(event, first));  // moved on: the second stream does not wait for this
    }
    CHECK_OK(sim::synchronize(second));
    gate->set_value();
    CHECK_OK(sim::synchronize(first));
}

TEST_CASE("an_event_of_an_idle_stream_that_failed_has_the_failure") {
    const Stream first;
    const Stream second;
    const Event event;
    int numbers[2] = {-1, -1};
    CHECK_OK(sim::streamNumber(first, &numbers[0]));
    CHECK_OK(sim::streamNumber(second, &numbers[1]));
    const std::string failure = "diopiNothing on stream " + std::to_string(numbers[0]) + " failed: out of ink";
    const std::string passedOn = "a wait for an event on stream " + std::to_string(numbers[1]) + " failed: " + failure;
    CHECK_OK(run(first, [] { throw std::runtime_error("out of ink"); }));
    CHECK_OK(sim::recordEvent(event, first));
    CHECK_FAILS(sim::synchronizeEvent(event), kernelFailed, failure);
    CHECK_OK(sim::recordEvent(event, first));  // nothing is queued any more
    CHECK_OK(sim::waitEvent(second, event));
    CHECK_FAILS(sim::synchronize(second), kernelFailed, passedOn);
    CHECK_FAILS(sim::synchronize(first), kernelFailed, failure);
}

// Whether a stream is seen as idle depends on what its thread does at that moment: once in some launches it is.
TEST_CASE("an_attempt_runs_where_the_stream_is_idle") {
    const Stream stream;
    int attempts = 0;
    const auto kernels = std::make_shared<int>(0);
    const auto launched = [&](bool is_done) {
        attempts = *kernels = 0;
        const auto attempt = [&](const sim::Kernel&) {
            ++attempts;
            return is_done;
        };
        CHECK_OK(sim::launch(stream, "diopiNothing", {}, [kernels](const sim::Kernel&) { ++*kernels; }, attempt));
        CHECK_OK(sim::synchronize(stream));
        return attempts == 1;
    };
    const auto once = [&](bool is_done) {
        for (int i = 0; i < 200; ++i) {
            const bool isAttempted = launched(is_done);
            CHECK(*kernels == (isAttempted && is_done ? 0 : 1));
            if (isAttempted) {
                return true;
            }
        }
        return false;
    };
    const bool isUndisturbed = std::getenv("DIOPI_SIM_DELAY") == nullptr &&
                               std::getenv("DIOPI_SIM_MEMORY_CHECK") == nullptr &&
                               std::getenv("DIOPI_SIM_ORDER_CHECK") == nullptr;
    CHECK(once(true) == isUndisturbed);
    CHECK(once(false) == isUndisturbed);

    const auto gate = std::make_shared<std::promise<void>>();
    const auto opened = std::make_shared<std::shared_future<void>>(gate->get_future().share());
    CHECK_OK(run(stream, [opened] { opened->wait(); }));
    const auto never = [](const sim::Kernel&) -> bool { throw std::runtime_error("the stream is not idle"); };
    CHECK_OK(sim::launch(stream, "diopiNothing", {}, [](const sim::Kernel&) {}, never));
    gate->set_value();
    CHECK_OK(sim::synchronize(stream));
}

TEST_CASE("elapsed_time_is_that_of_the_device") {
    const Stream stream;
    const Event start;
    const Event end;
    double milliseconds = -1;
    CHECK_FAILS(sim::elapsedTime(start, end, &milliseconds), invalidArgument,
                "elapsed time: the first event was never recorded");
    CHECK_OK(sim::recordEvent(start, stream));
    CHECK_OK(run(stream, [] { sleepMilliseconds(40); }));
    CHECK_OK(sim::recordEvent(end, stream));
    CHECK_OK(sim::synchronizeEvent(start));
    CHECK_FAILS(sim::elapsedTime(start, end, &milliseconds), invalidArgument,
                "elapsed time: the second event is not done");
    CHECK_OK(sim::synchronizeEvent(end));
    CHECK_OK(sim::elapsedTime(start, end, &milliseconds));
    CHECK(milliseconds >= 40);
    double back = 0;
    CHECK_OK(sim::elapsedTime(end, start, &back));
    CHECK_EQ(back, -milliseconds);
}

TEST_CASE("the_default_stream_is_that_of_the_current_device") {
    int numbers[3] = {-1, -1, -1};
    CHECK_OK(sim::streamNumber(nullptr, &numbers[0]));
    CHECK_OK(sim::setCurrentDevice(1));
    CHECK_OK(sim::streamNumber(nullptr, &numbers[1]));
    CHECK_OK(sim::setCurrentDevice(0));
    CHECK_OK(sim::streamNumber(nullptr, &numbers[2]));
    CHECK_EQ(numbers[0], numbers[2]);
    CHECK(numbers[0] != numbers[1]);
    const Floats memory(4);
    memory.set(nullptr, {1, 2, 3, 4});
    CHECK(memory.values(nullptr) == (std::vector<float>{1, 2, 3, 4}));
    CHECK_FAILS(sim::destroyStream(nullptr), invalidArgument, "the default stream cannot be destroyed");
}

TEST_CASE("a_stream_is_known_or_refused") {
    sim::StreamHandle stream = nullptr;
    CHECK_OK(sim::createStream(0, &stream));
    CHECK_OK(sim::destroyStream(stream));
    const std::string text = "0x# is no stream, or one that was destroyed";
    const Event event;
    CHECK_FAILS(sim::synchronize(stream), invalidArgument, text);
    CHECK_FAILS(sim::destroyStream(stream), invalidArgument, text);
    CHECK_FAILS(sim::recordEvent(event, stream), invalidArgument, text);
    CHECK_FAILS(sim::waitEvent(stream, event), invalidArgument, text);
    CHECK_FAILS(run(stream, [] {}), invalidArgument, text);
    CHECK_FAILS(sim::recordEvent(nullptr, nullptr), invalidArgument, "the event is null");
    CHECK_FAILS(sim::createStream(7, &stream), invalidArgument,
                "there is no device 7 among the 2 of DIOPI_SIM_DEVICES");
    CHECK_FAILS(sim::createStream(0, nullptr), invalidArgument, "create stream: the place for the stream is null");
}

TEST_CASE("a_thread_that_used_a_stream_last_is_told_that_it_was_destroyed") {
    sim::StreamHandle stream = nullptr;
    CHECK_OK(sim::createStream(0, &stream));
    std::promise<void> used, destroyed;
    std::future<void> isUsed = used.get_future(), isDestroyed = destroyed.get_future();
    sim::Status before, after;
    std::thread other([&] {
        before = sim::synchronize(stream);
        used.set_value();
        isDestroyed.wait();
        after = run(stream, [] {});
    });
    isUsed.wait();
    CHECK_OK(sim::synchronize(stream));
    CHECK_OK(sim::destroyStream(stream));
    destroyed.set_value();
    other.join();
    CHECK_OK(before);
    CHECK_FAILS(after, invalidArgument, "0x# is no stream, or one that was destroyed");
    CHECK_FAILS(sim::synchronize(stream), invalidArgument, "0x# is no stream, or one that was destroyed");
}

TEST_CASE("streams_are_used_in_turn") {
    const Stream first, second, elsewhere(1);
    const Floats memory(4), remote(4, 1);
    for (int i = 0; i < 3; ++i) {
        const auto value = static_cast<float>(i);
        memory.set(first, {value, 0, 0, 0});
        remote.set(elsewhere, {-value, 0, 0, 0});
        CHECK_OK(addScalar(second, memory, memory, 10));
        CHECK(memory.values(second)[0] == value + 10);
        CHECK(remote.values(elsewhere)[0] == -value);
        CHECK_FAILS(sim::copyToHost(elsewhere, nullptr, memory.get(), 4), wrongDevice,
                    "wrong device: copy to host: the source is 0x#, memory of device 0, in work for device 1; "
                    "allocation #1 (16 bytes on device 0 at 0x#)");
    }
}

// Objects of a thread that end after those of the library use streams as before.
TEST_CASE("the_end_of_a_thread_uses_streams") {
    static std::atomic<bool> isGood{false};
    struct Late {
        sim::StreamHandle stream = nullptr;
        ~Late() {
            isGood = sim::synchronize(stream).ok() && run(stream, [] {}).ok() && sim::synchronize(stream).ok();
        }
    };
    const Stream stream;
    std::thread([&stream] {
        thread_local Late late;  // ends last
        late.stream = stream;
        CHECK_OK(sim::synchronize(stream));
    }).join();
    CHECK(isGood);
}

TEST_CASE("a_small_kernel_waits_for_its_turn") {
    const Stream stream;
    const Floats memory(2);
    memory.set(stream, {1, 2});
    const auto gate = std::make_shared<std::promise<void>>();
    const auto opened = std::make_shared<std::shared_future<void>>(gate->get_future().share());
    const auto host = std::this_thread::get_id();
    const auto add = [&](float amount, bool* isHere) {
        // More than a std::function has room for by itself.
        const auto kernel = [=, more = std::vector<float>(9, amount)](const sim::Kernel& k) {
            *isHere = std::this_thread::get_id() == host;
            k.out<float>(0)[0] = k.out<float>(0)[0] * 2 + more[8];
        };
        return sim::launchAtOnceIfSmall(stream, "diopiAddInp", {sim::updates(memory.get(), 8)}, kernel);
    };
    bool isFirstHere = false, isSecondHere = true;
    CHECK_OK(add(1, &isFirstHere));
    CHECK(isFirstHere);
    CHECK_OK(run(stream, [opened] { opened->wait(); }));
    CHECK_OK(add(10, &isSecondHere));
    CHECK_FAILS(
        sim::launchAtOnceIfSmall(stream, "diopiAddInp", {sim::updates(memory.get() + 1, 8)}, [](const sim::Kernel&) {}),
        invalidPointer,
        "range beyond an allocation: diopiAddInp: buffer 0 is 8 bytes from byte 4 on; "
        "allocation #1 (8 bytes on device 0 at 0x#)");
    gate->set_value();
    CHECK_OK(sim::synchronize(stream));
    CHECK(!isSecondHere);
    CHECK(memory.values(stream)[0] == 16);
    CHECK_FAILS(sim::launchAtOnceIfSmall(stream, "diopiAddInp", {}, sim::KernelFunction()), invalidArgument,
                "launch: no name, or no kernel");
}

TEST_CASE("a_kernel_that_throws_fails_its_stream_once") {
    const Stream stream;
    const Floats memory(4);
    const Floats other(4);
    memory.set(stream, {1, 2, 3, 4});
    int number = -1;
    CHECK_OK(sim::streamNumber(stream, &number));
    const std::string where = " on stream " + std::to_string(number) + " failed: ";
    CHECK_OK(run(stream, [] { throw std::runtime_error("unit on fire"); }));
    CHECK_OK(run(stream, [] { throw 1; }));  // NOLINT: what a kernel may do
    CHECK_OK(addScalar(stream, other, memory, 1.0f));
    CHECK_FAILS(sim::synchronize(stream), kernelFailed, "diopiNothing" + where + "unit on fire");
    CHECK_OK(sim::synchronize(stream));
    CHECK(other.values(stream) == (std::vector<float>{2, 3, 4, 5}));
    CHECK_OK(sim::launch(stream, "diopiAdd", {sim::reads(memory.get(), 16)},
                         [](const sim::Kernel& kernel) { kernel.out<float>(0)[0] = 0; }));
    CHECK_FAILS(sim::synchronize(stream), kernelFailed,
                "diopiAdd" + where + "buffer 0 is written, but was declared as read");
    CHECK_FAILS(sim::launch(stream, "", {}, [](const sim::Kernel&) {}), invalidArgument,
                "launch: no name, or no kernel");
    CHECK_FAILS(sim::launch(stream, "diopiAdd", {sim::reads(memory.get() + 2, 9)}, [](const sim::Kernel&) {}),
                invalidPointer,
                "range beyond an allocation: diopiAdd: buffer 0 is 9 bytes from byte 8 on; "
                "allocation #1 (16 bytes on device 0 at 0x#)");
}

// Programs about synchronisation. Stream `first` fills memory, stream `second` reads it.
namespace {

void crossStreams(bool synchronised) {
    const Stream first;
    const Stream second;
    const Floats memory(256);
    const Floats result(256);
    memory.set(nullptr, std::vector<float>(256, 0.0f));
    const std::vector<float> ones(256, 1.0f);
    const Event event;
    CHECK_OK(sim::copyToDevice(first, memory.get(), ones.data(), memory.bytes()));
    CHECK_OK(sim::recordEvent(event, first));
    if (synchronised) {
        CHECK_OK(sim::waitEvent(second, event));
    }
    sleepMilliseconds(300);  // the host has other things to do, and so hides what is missing
    CHECK_OK(addScalar(second, result, memory, 1.0f));
    CHECK(result.values(second) == std::vector<float>(256, 2.0f));
    CHECK_OK(sim::synchronize(first));
}

}  // namespace

TEST_CASE("streams_with_synchronisation") { crossStreams(true); }

TEST_CASE("streams_without_synchronisation" * doctest::test_suite("faults")) { crossStreams(false); }

// The host reads the result of a copy without having waited for the stream.
TEST_CASE("host_without_synchronisation" * doctest::test_suite("faults")) {
    const Stream stream;
    const Floats memory(256);
    memory.set(stream, std::vector<float>(256, 1.0f));
    std::vector<float> found(256, 0.0f);
    CHECK_OK(sim::copyToHost(stream, found.data(), memory.get(), memory.bytes()));
    sleepMilliseconds(300);
    CHECK(found == std::vector<float>(256, 1.0f));
    CHECK_OK(sim::synchronize(stream));
}
