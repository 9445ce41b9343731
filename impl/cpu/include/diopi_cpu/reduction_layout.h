// How a reduction walks through a tensor: its dimensions in the order of memory, neighbours of one kind merged.
#ifndef DIOPI_CPU_REDUCTION_LAYOUT_H_
#define DIOPI_CPU_REDUCTION_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/reduction.h"
#include "diopi_core/tensor.h"

namespace diopigen::cpu {

using namespace core;

struct Axis {
    int64_t size;
    int64_t stride;  // in elements
};

// In which order the elements of a result are walked: a reducer that asks for their positions needs the logical one.
enum class Walk { kMemory, kLogical };

// A tensor whose innermost axis has stride 1; copied where none has. Results are numbered along the outer
// dimensions, of which the order is that of memory.
class ReductionLayout {
  public:
    ReductionLayout(const Tensor& input, const Rows& rows, Walk walk);

    const void* data() const { return data_; }
    // The axes without the innermost one, outermost first.
    const std::vector<Axis>& outer() const { return outer_; }
    const std::vector<Axis>& reduced() const { return reduced_; }
    // Whether the innermost axis is reduced: then rows are reduced, else columns.
    bool is_inner_reduced() const { return is_inner_reduced_; }
    int64_t inner() const { return inner_; }
    int64_t results() const { return results_; }
    int64_t length() const { return length_; }

    // An output, with the reduced dimensions or without them, whose elements are in the order of the results.
    View arranged(const Tensor& out) const;

  private:
    void merge(const Tensor& tensor, const std::vector<bool>& is_reduced);

    Buffer copy_;
    const void* data_;
    std::vector<Axis> outer_;
    std::vector<Axis> reduced_;
    bool is_inner_reduced_ = true;
    int64_t inner_ = 1;
    int64_t results_;
    int64_t length_;
    std::vector<int64_t> outer_dims_;      // in logical order, without those of size 1
    std::vector<int64_t> outer_in_order_;  // the same in the order of memory
};

// Where the elements with a number along some axes begin.
int64_t offset_of(const std::vector<Axis>& axes, int64_t number);
int64_t count_of(const std::vector<Axis>& axes);

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_REDUCTION_LAYOUT_H_
