// The device functions of the host runtime, and of a framework's backend, over the CUDA runtime.
#ifndef DIOPI_CUDA_DEVICE_H_
#define DIOPI_CUDA_DEVICE_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "diopi_core/error.h"

namespace diopigen::cuda {

// Registers the functions of diopigen/device.h and, where the host asks for it, the table of diopigen/accelerator.h.
// 0 on success; CUDA's own code where there is no device.
int32_t register_device();

// Offers the table. 0 on success, and where the host has no use for it.
int32_t register_accelerator();

// CUDA's code for the host, which asks for the text of the thread's latest failure by `last_error`.
int32_t answer(cudaError_t status, const char* what);
const char* last_error();

// Makes another device the thread's while it lives.
class OnDevice {
  public:
    explicit OnDevice(int device) {
        status_ = cudaGetDevice(&before_);
        if (status_ == cudaSuccess && device != before_) {
            status_ = cudaSetDevice(device);
            changed_ = status_ == cudaSuccess;
        }
    }
    ~OnDevice() {
        if (changed_) {
            cudaSetDevice(before_);
        }
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    cudaError_t status() const { return status_; }

  private:
    int before_ = 0;
    bool changed_ = false;
    cudaError_t status_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_DEVICE_H_
