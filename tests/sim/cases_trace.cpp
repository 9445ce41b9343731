// Records of what ran.
#include <diopigen_sim/trace.h>

#include "sim_test.h"

using simtest::Floats;
using simtest::sleepMilliseconds;
using simtest::Stream;

TEST_CASE("records_say_what_ran") {
    const Stream stream(1);
    const Floats memory(256, 1);
    memory.set(stream, std::vector<float>(256, 1.0f));
    CHECK(sim::takeRecords().empty());  // off at first
    CHECK_OK(sim::enableTrace(true));
    CHECK_OK(sim::launch(stream, "diopiSlow", {sim::updates(memory.get(), 1024), sim::reads(memory.get(), 4)},
                         [](const sim::Kernel&) { sleepMilliseconds(20); }));
    memory.values(stream);
    CHECK_OK(sim::enableTrace(false));
    memory.values(stream);
    uint64_t dropped = 1;
    const std::vector<sim::TraceRecord> records = sim::takeRecords(&dropped);
    CHECK_EQ(dropped, 0u);
    CHECK_EQ(records.size(), 2u);
    CHECK_EQ(records[0].name, std::string("diopiSlow"));
    CHECK_EQ(records[0].bytes, 1028u);
    CHECK(records[0].end - records[0].start >= 0.02);
    CHECK_EQ(records[1].name, std::string("copy to host"));
    CHECK_EQ(records[1].bytes, 1024u);
    CHECK(records[1].start >= records[0].end);
    for (const sim::TraceRecord& record : records) {
        CHECK_EQ(record.device, 1);
        CHECK_EQ(record.stream, 0);
    }
    CHECK(sim::takeRecords().empty());
}

// With DIOPI_SIM_TRACE.
TEST_CASE("a_program_with_a_trace") {
    const Stream first(0);
    const Stream second(1);
    const Floats one(4, 0);
    const Floats two(8, 1);
    one.set(first, std::vector<float>(4, 1.0f));
    two.set(second, std::vector<float>(8, 1.0f));
    CHECK_OK(sim::launch(second, "odd \"name\"\\\n", {sim::updates(two.get(), 32)}, [](const sim::Kernel&) {}));
    // Not waited for: what is queued when the process exits is done, and recorded.
}
