// Streams that are captured: what is recorded, launched and rejected.
#include <string>
#include <vector>

#include "../../runtime/sim/src/stream_capture.h"
#include "sim_test.h"

using simtest::addScalar;
using simtest::Event;
using simtest::Floats;
using simtest::Stream;

namespace {

constexpr uint64_t kCount = 2000;  // elements; more than what runs at once

std::vector<float> all(float value) { return std::vector<float>(kCount, value); }

uint64_t capture_of(sim::StreamHandle stream) {
    uint64_t number = 0;
    CHECK_OK(sim::capture_of(stream, &number));
    return number;
}

}  // namespace

TEST_CASE("a_capture_of_two_streams") {
    const Stream first, second, third;
    const Floats x(kCount), y(kCount), z(kCount);
    std::vector<float> host = all(0);
    for (const Floats* one : {&x, &y, &z}) {
        one->set(first, host);
    }
    const Event fork, joined;
    CHECK_OK(sim::begin_capture(first));
    CHECK_OK(sim::copyToDevice(first, x.get(), host.data(), x.bytes()));
    CHECK_OK(sim::recordEvent(fork, first));
    CHECK_OK(sim::waitEvent(second, fork));
    CHECK(capture_of(second) == capture_of(first));
    CHECK(capture_of(first) != 0);
    CHECK_OK(addScalar(second, y, x, 10));
    CHECK_OK(sim::recordEvent(joined, second));
    CHECK_OK(sim::waitEvent(first, joined));
    CHECK_OK(addScalar(first, z, y, 100));
    void* graph = nullptr;
    CHECK_OK(sim::end_capture(first, &graph));
    CHECK(capture_of(first) + capture_of(second) == 0);
    CHECK(z.values(first) == all(0));
    // A second graph holds two launches of the first one.
    CHECK_OK(sim::begin_capture(second));
    CHECK_OK(sim::launch_captured(graph, second));
    CHECK_OK(sim::launch_captured(graph, second));
    void* twice = nullptr;
    CHECK_OK(sim::end_capture(second, &twice));
    for (const float value : {1.0f, 2.0f}) {
        host.assign(kCount, value);
        CHECK_OK(sim::launch_captured(value == 1 ? graph : twice, third));
        CHECK(z.values(third) == all(value + 110));
    }
    host.assign(kCount, 3);
    CHECK_OK(sim::launch_captured(graph, third));
    CHECK_OK(sim::destroy_captured(graph));
    CHECK_OK(sim::destroy_captured(twice));
    CHECK(z.values(third) == all(113));
}

TEST_CASE("what_a_capture_rejects") {
    const Stream first, second;  // numbers 0 and 1
    const Floats x(kCount);
    x.set(first, all(0));
    const Event before, inside;
    void* graph = nullptr;
    bool done = false;
    CHECK_FAILS(sim::end_capture(first, &graph), invalidArgument, "no capture began on stream 0");
    CHECK_OK(sim::recordEvent(before, second));
    CHECK_OK(sim::begin_capture(first));
    CHECK_FAILS(sim::begin_capture(first), invalidArgument, "a second capture: stream 0 is being captured");
    CHECK_FAILS(sim::synchronize(first), invalidArgument, "a wait of the host: stream 0 is being captured");
    CHECK_FAILS(sim::destroyStream(first), invalidArgument, "the end of a stream: stream 0 is being captured");
    CHECK_FAILS(sim::waitEvent(first, before), invalidArgument,
                "stream 0 is being captured, and waits for an event from outside of the capture");
    CHECK_OK(sim::recordEvent(inside, first));
    CHECK_FAILS(sim::synchronizeEvent(inside), invalidArgument,
                "a wait of the host for an event, which was recorded in a capture");
    CHECK_FAILS(sim::queryEvent(inside, &done), invalidArgument,
                "a query of an event, which was recorded in a capture");
    CHECK_OK(sim::waitEvent(second, inside));
    CHECK_FAILS(sim::end_capture(second, &graph), invalidArgument, "no capture began on stream 1");
    CHECK_OK(addScalar(second, x, x, 1));
    CHECK_FAILS(sim::end_capture(first, &graph), invalidArgument,
                "stream 1 has joined the capture of stream 0, which does not wait for the end of its work");
    CHECK(graph == nullptr);
    CHECK_FAILS(sim::waitEvent(first, inside), invalidArgument,
                "stream 0 waits for an event of a capture that has ended");
    CHECK(x.values(second) == all(0));
}
