// A device that finds out misuse: its addresses crash when the host touches them, its copies happen only when a stream
// is synchronised, and it counts what is alive and what was done too early.
#ifndef DIOPIGEN_TESTS_RUNTIME_FAKE_DEVICE_H_
#define DIOPIGEN_TESTS_RUNTIME_FAKE_DEVICE_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <functional>
#include <string>

namespace fake {

/// The nine device functions, to name the one that is missing or broken.
enum class Function {
    createStream,
    destroyStream,
    synchronize_stream,
    allocate,
    free,
    copy_host_to_device,
    copy_device_to_host,
    copy_device_to_device,
    get_last_error_string,
};

/// Calls of one function since the last reset().
int calls(Function function);

/// Clears the counts. Memory and streams stay as they are.
void reset();

/// Registers all functions anew, none of them broken.
void registerAll();

/// Registers all functions anew but one.
void registerAllBut(Function missing);

/// Makes a function fail: a code of 7, or null memory, and the error string `text`.
void breakFunction(Function function, const std::string& text);

/// Queues work on a stream, as a kernel launch does.
void launch(diopiStreamHandle_t stream, std::function<void()> work);

/// The host address behind a device address. Only "kernels" may use it.
void* hostAddress(const void* deviceAddress);

int liveAllocations();
int liveStreams();

/// How often memory was freed, or a stream destroyed, while work was pending.
int tooEarly();

}  // namespace fake

#endif  // DIOPIGEN_TESTS_RUNTIME_FAKE_DEVICE_H_
