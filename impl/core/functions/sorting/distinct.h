// Groups of equal slices. Each library has its own way to find them.
#ifndef DIOPI_CORE_FUNCTIONS_SORTING_DISTINCT_H_
#define DIOPI_CORE_FUNCTIONS_SORTING_DISTINCT_H_

#include <memory>

#include "diopi_core/tensor.h"

namespace diopigen::core {

// The groups come in the order of their slices, which are compared element by element: NaN is above all numbers and
// each NaN is on its own, zeros of both signs are equal.
class Distinct {
  public:
    // The tensor is `count` slices of `length` elements. Groups of slices are stored only where they are needed.
    Distinct(const Tensor& slices, int64_t count, int64_t length, bool needs_groups);
    ~Distinct();
    Distinct(const Distinct&) = delete;
    Distinct& operator=(const Distinct&) = delete;

    // How many groups there are.
    int64_t count() const;
    // The first slice of each.
    void store_slices(const Tensor& to, const Tensor& slices) const;
    // The group of each slice.
    void store_groups(const Tensor& to) const;
    // How many slices each group has.
    void store_sizes(const Tensor& to) const;

  private:
    struct Found;
    std::unique_ptr<Found> found_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_SORTING_DISTINCT_H_
