// Kernels that were compiled for the chip: it has no word in what they take, which is about its native operators.
#ifndef DIOPIGEN_SIM_SRC_LAUNCH_COMPILED_H_
#define DIOPIGEN_SIM_SRC_LAUNCH_COMPILED_H_

#include <diopigen_sim/launch.h>

namespace diopigen::sim {

/// As launch(), without the rules of the chip. One that is worth a single thread runs on the calling thread where the
/// stream is idle, with up to 64 KiB of buffers: that takes a few microseconds, and a thread longer to wake up.
Status launch_compiled(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
                       bool is_for_one_thread);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_LAUNCH_COMPILED_H_
