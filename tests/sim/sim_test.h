// What cases of the simulated device share. They run one to a process: the environment is read once, and many cases end
// their process.
#ifndef DIOPIGEN_TESTS_SIM_SIM_TEST_H_
#define DIOPIGEN_TESTS_SIM_SIM_TEST_H_

#include <diopigen_sim/device.h>
#include <diopigen_sim/launch.h>
#include <diopigen_sim/memory.h>
#include <diopigen_sim/stream.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kernels = diopigen::kernels;
namespace sim = diopigen::sim;

namespace simtest {

/// The text with every hexadecimal number replaced by 0x#.
std::string withoutAddresses(const std::string& text);

/// Whether the environment asks for neither delays nor checks, with which work is done as it would be without a test.
bool isUndisturbed();

/// Memory of `count` floats on a device, freed with the object.
class Floats {
  public:
    explicit Floats(uint64_t count, int device = 0);
    ~Floats();
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;

    float* get() const { return static_cast<float*>(pointer_); }
    uint64_t bytes() const { return bytes_; }
    /// Copies on `stream` and waits.
    void set(sim::StreamHandle stream, const std::vector<float>& values) const;
    std::vector<float> values(sim::StreamHandle stream) const;

  private:
    uint64_t bytes_;
    void* pointer_ = nullptr;
};

/// A stream, destroyed with the object.
class Stream {
  public:
    explicit Stream(int device = 0);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator sim::StreamHandle() const { return handle_; }  // NOLINT: it stands for the handle

  private:
    sim::StreamHandle handle_ = nullptr;
};

class Event {
  public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator sim::EventHandle() const { return handle_; }  // NOLINT: it stands for the handle

  private:
    sim::EventHandle handle_ = nullptr;
};

/// to[i] = from[i] + amount, as the operator diopiAddScalar.
sim::Status addScalar(sim::StreamHandle stream, const Floats& to, const Floats& from, float amount);

void sleepMilliseconds(int milliseconds);

}  // namespace simtest

#define CHECK_OK(call)                                                \
    do {                                                              \
        const sim::Status status_ = (call);                           \
        CHECK_MESSAGE(status_.ok(), #call " gave: ", status_.text()); \
    } while (false)

// The call returns this code and exactly this text, where addresses are written as 0x#.
#define CHECK_FAILS(call, expected, message)                                                                    \
    do {                                                                                                        \
        const sim::Status status_ = (call);                                                                     \
        CHECK_MESSAGE(status_.code() == sim::Code::expected, #call);                                            \
        CHECK_MESSAGE(simtest::withoutAddresses(status_.text()) == std::string(message), "the text of " #call); \
    } while (false)

#endif  // DIOPIGEN_TESTS_SIM_SIM_TEST_H_
