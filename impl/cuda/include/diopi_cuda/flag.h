// A flag on the device that kernels set where they find what must be rejected. Asking for it waits for the stream.
#ifndef DIOPI_CUDA_FLAG_H_
#define DIOPI_CUDA_FLAG_H_

#include "diopi_core/dense.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

class Flag {
  public:
    Flag() {
        memory_.allocate(sizeof(int));
        clear(memory_.data(), sizeof(int));
    }
    // Kernels write 1 here.
    int* data() const { return static_cast<int*>(memory_.data()); }
    bool is_raised() const {
        int value = 0;
        read_back(&value, memory_.data(), sizeof(int));
        return value != 0;
    }

  private:
    Buffer memory_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_FLAG_H_
