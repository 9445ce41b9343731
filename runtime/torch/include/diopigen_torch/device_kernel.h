// Kernels that the device compiles at run time (diopigen/kernel_compiler.h).
#ifndef DIOPIGEN_TORCH_DEVICE_KERNEL_H_
#define DIOPIGEN_TORCH_DEVICE_KERNEL_H_

#include <diopigen/kernel_compiler.h>

#include <memory>
#include <string>
#include <vector>

namespace diopigen::backend {

/// Returns whether the vendor offers to compile kernels.
bool has_kernel_compiler();

class DeviceKernel {
  public:
    /// Compiles; throws with the device's own text.
    DeviceKernel(const std::string& source, const std::string& name);
    /// Waits for all streams first.
    ~DeviceKernel();
    DeviceKernel(const DeviceKernel&) = delete;
    DeviceKernel& operator=(const DeviceKernel&) = delete;

    /// Throws with the device's own text.
    void launch(diopiStreamHandle_t stream, const std::vector<diopigenKernelBuffer_t>& buffers,
                const std::vector<int64_t>& numbers, int64_t items, int64_t grain) const;

  private:
    std::string name_;
    void* kernel_ = nullptr;
};

/// The kernel of a source, compiled once for the process as long as there are not very many.
std::shared_ptr<const DeviceKernel> device_kernel(const std::string& source, const std::string& name);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DEVICE_KERNEL_H_
