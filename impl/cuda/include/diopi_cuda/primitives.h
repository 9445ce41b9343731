// Sorting and running sums over whole arrays: CUB's where it is there, else own kernels (docs/cuda.md). Integers
// alone, so that results do not depend on which of them it was.
#ifndef DIOPI_CUDA_PRIMITIVES_H_
#define DIOPI_CUDA_PRIMITIVES_H_

#include <cstdint>

#include "diopi_core/dense.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

// sums[i] = counts[0] + ... + counts[i - 1]. The arrays may be the same.
void sum_before_each(int64_t* sums, const int64_t* counts, int64_t count);

// Keys, each with the number of an element, to be sorted by the keys.
class Keyed {
  public:
    explicit Keyed(int64_t count);
    int64_t count() const { return count_; }
    uint64_t* keys() const { return static_cast<uint64_t*>(keys_[at_].data()); }
    int64_t* indices() const { return static_cast<int64_t*>(indices_[at_].data()); }
    // Rising, and equals in the order that they were in. Keys have `bits` bits that matter; the others are 0.
    void sort(int bits);

  private:
    int64_t count_;
    int at_ = 0;  // which of the two arrays holds what is valid
    Buffer keys_[2];
    Buffer indices_[2];
};

// How many bits numbers below `count` have.
inline int bits_below(int64_t count) {
    int bits = 1;
    while (bits < 63 && (int64_t{1} << bits) < count) {
        ++bits;
    }
    return bits;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_PRIMITIVES_H_
