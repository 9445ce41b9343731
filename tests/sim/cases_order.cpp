// Programs for the order check.
#include "sim_test.h"

using simtest::addScalar;
using simtest::Event;
using simtest::Floats;
using simtest::Stream;

TEST_CASE("every_synchronisation_is_seen") {
    const Stream first;
    const Stream second;
    const Floats a(64);
    const Floats b(64);
    const Floats c(64);
    a.set(first, std::vector<float>(64, 0.0f));
    // The host has waited for the first stream.
    CHECK_OK(addScalar(second, b, a, 1));
    // Two readers need no order.
    CHECK_OK(addScalar(first, c, a, 1));
    // An event, from stream to stream.
    const Event event;
    CHECK_OK(sim::recordEvent(event, second));
    CHECK_OK(sim::waitEvent(first, event));
    CHECK_OK(addScalar(first, a, b, 1));
    // An event that the host waits for.
    CHECK_OK(sim::recordEvent(event, first));
    CHECK_OK(sim::synchronizeEvent(event));
    CHECK_OK(addScalar(second, c, a, 1));
    // An event that the host asks about.
    CHECK_OK(sim::recordEvent(event, second));
    for (bool done = false; !done;) {
        CHECK_OK(sim::queryEvent(event, &done));
    }
    CHECK_OK(addScalar(first, a, c, 1));
    // Adjacent parts of one allocation.
    CHECK_OK(sim::synchronize(first));
    float values[32] = {};
    CHECK_OK(sim::copyToDevice(first, a.get(), values, sizeof(values)));
    CHECK_OK(sim::copyToDevice(second, a.get() + 32, values, sizeof(values)));
    CHECK_OK(sim::synchronize(first));
    CHECK_OK(sim::synchronize(second));
    CHECK(c.values(first) == std::vector<float>(64, 3.0f));
}

TEST_CASE("write_after_read" * doctest::test_suite("faults")) {
    const Stream first;
    const Stream second;
    const Floats a(64);
    const Floats b(64);
    a.set(first, std::vector<float>(64, 0.0f));
    CHECK_OK(addScalar(first, b, a, 1));
    std::vector<float> values(64, 5.0f);
    CHECK_OK(sim::copyToDevice(second, a.get(), values.data(), a.bytes()));
}

TEST_CASE("free_before_the_end" * doctest::test_suite("faults")) {
    const Stream stream;
    auto* const a = new Floats(64);
    CHECK_OK(addScalar(stream, *a, *a, 1));
    delete a;
}
