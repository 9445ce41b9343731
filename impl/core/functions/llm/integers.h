// Index tensors as plain int64 numbers in row-major order, as the objects of diopigen_kernels/serving read and write
// them.
#ifndef DIOPI_CORE_FUNCTIONS_LLM_INTEGERS_H_
#define DIOPI_CORE_FUNCTIONS_LLM_INTEGERS_H_

#include "diopi_core/dense.h"

namespace diopigen::core {

static_assert(sizeof(Int64) == sizeof(int64_t));

class IntegralInput {
  public:
    explicit IntegralInput(const Tensor& tensor) : input_(tensor) {}
    const int64_t* data() const { return reinterpret_cast<const int64_t*>(input_.data()); }

  private:
    Input<Int64> input_;
};

class IntegralOutput {
  public:
    explicit IntegralOutput(const Tensor& tensor) : output_(tensor) {}
    int64_t* data() const { return reinterpret_cast<int64_t*>(output_.data()); }
    void store() const { output_.store(); }

  private:
    Output<Int64> output_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LLM_INTEGERS_H_
