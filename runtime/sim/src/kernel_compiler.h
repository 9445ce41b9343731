// The kernel compiler of the simulated device: the C++ compiler of the host.
#ifndef DIOPIGEN_SIM_SRC_KERNEL_COMPILER_H_
#define DIOPIGEN_SIM_SRC_KERNEL_COMPILER_H_

#include <diopigen/kernel_compiler.h>
#include <diopigen_sim/status.h>

namespace diopigen::sim {

Status compile_kernel(const char* source, const char* name, void** kernel);
Status launch_kernel(void* kernel, diopiStreamHandle_t stream, const diopigenKernelBuffer_t* buffers,
                     uint64_t buffer_count, const int64_t* numbers, uint64_t number_count, int64_t items,
                     int64_t grain);
Status unload_kernel(void* kernel);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_KERNEL_COMPILER_H_
