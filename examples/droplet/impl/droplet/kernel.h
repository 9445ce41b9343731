// What all kernels of droplet stand on: operands, and their elements as plain arrays.
//
// A kernel takes the calls that the chip was made for. Any other call (a dtype that it lacks, operands of odd shapes,
// overlapping memory, wrong arguments) it leaves to others by diopiForceFallbackToCPU, before anything has happened:
// the reference library then runs it, or refuses it with the status and the text that the interface promises.
#ifndef IMPL_DROPLET_KERNEL_H_
#define IMPL_DROPLET_KERNEL_H_

#include <diopi/diopirt.h>
#include <diopigen_sim/elements.h>
#include <diopigen_sim/launch.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace impl {
namespace droplet {

using Shape = std::vector<int64_t>;
using Values = std::vector<double>;  // holds every dtype of the chip exactly

using diopigen::sim::Kernel;
using diopigen::sim::load;
using diopigen::sim::store;

constexpr diopiError_t kLeave = diopiForceFallbackToCPU;

int64_t product(const Shape& shape, size_t first = 0, size_t last = SIZE_MAX);
bool isFloat(diopiDtype_t dtype);
inline double number(const diopiScalar_t* scalar) {
    return scalar->stype >= diopi_dtype_float16 && scalar->stype <= diopi_dtype_float64
               ? scalar->fval
               : static_cast<double>(scalar->ival);
}

// A call under way: its operands, added in any order and numbered from 0.
class Call {
  public:
    Call(diopiContextHandle_t ctx, const char* name) : ctx_(ctx), name_(name) {}
    int in(diopiConstTensorHandle_t tensor) { return add(tensor, diopigen::sim::Access::read, false); }
    int optional(diopiConstTensorHandle_t tensor) { return add(tensor, diopigen::sim::Access::read, true); }
    int out(diopiTensorHandle_t tensor, bool isOptional = false) {
        return add(tensor, diopigen::sim::Access::write, isOptional);
    }
    int inout(diopiTensorHandle_t tensor, bool isOptional = false) {
        return add(tensor, diopigen::sim::Access::readWrite, isOptional);
    }

    bool has(int k) const { return buffers_[k].isTensor; }
    const Shape& shape(int k) const { return buffers_[k].shape; }
    diopiDtype_t dtype(int k) const { return buffers_[k].dtype; }
    int64_t rank(int k) const { return static_cast<int64_t>(shape(k).size()); }
    // The place of a dimension that may count from the end, -1 where there is none.
    int64_t dim(int k, int64_t dim) const;
    // Whether all operands that are there have the floating dtype of the first one.
    bool isOneFloat() const;
    bool sameShape(int a, int b) const { return shape(a) == shape(b); }

    // Queues the kernel, where nothing speaks against it: every operand that must be there is a tensor of the device
    // with elements and a dtype of the chip, and outputs share no memory with others or among themselves.
    diopiError_t run(std::function<void(const diopigen::sim::Kernel&)> kernel) const;

  private:
    int add(diopiConstTensorHandle_t tensor, diopigen::sim::Access access, bool isOptional);
    bool isPlain() const;

    diopiContextHandle_t ctx_;
    const char* name_;
    bool isComplete_ = true;
    std::vector<diopigen::sim::Buffer> buffers_;
};

}  // namespace droplet
}  // namespace impl

#endif  // IMPL_DROPLET_KERNEL_H_
