// Positions of any size, taken apart by a divisor that the host knows.
#ifndef DIOPI_CUDA_FAST_DIVMOD_H_
#define DIOPI_CUDA_FAST_DIVMOD_H_

#include "diopi_cuda/operand.h"

namespace diopigen::cuda {

class FastDivmod {
  public:
    FastDivmod() = default;
    explicit FastDivmod(int64_t divisor) : divisor_(divisor), short_(divisor) {}

    // The quotient; the rest takes the place of the position. A division of 64 bits takes a GPU a hundred instructions:
    // only positions beyond kMaxShort need one.
    DIOPI_DEVICE int64_t split(int64_t& position) const {
        if (position <= kMaxShort) {
            auto rest = static_cast<uint32_t>(position);
            const uint32_t quotient = short_.split(rest);
            position = rest;
            return quotient;
        }
        const int64_t quotient = position / divisor_;
        position -= quotient * divisor_;
        return quotient;
    }

  private:
    int64_t divisor_ = 1;
    Divider short_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_FAST_DIVMOD_H_
