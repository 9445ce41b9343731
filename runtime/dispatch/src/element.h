// Single elements of tensors in host memory.
#ifndef DIOPIGEN_DISPATCH_ELEMENT_H_
#define DIOPIGEN_DISPATCH_ELEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "host_copy.h"

namespace diopigen::dispatch {

// The indices of a tensor in row-major order.
class Index {
  public:
    explicit Index(const std::vector<int64_t>& shape) : shape_(shape), at_(shape.size(), 0) {}
    void advance();
    const std::vector<int64_t>& at() const { return at_; }
    // Bytes from element 0.
    int64_t offset(const TensorInfo& info) const;

  private:
    const std::vector<int64_t>& shape_;
    std::vector<int64_t> at_;
};

// Part 0 or 1 (imaginary) of a floating or complex element.
double real_at(diopiDtype_t dtype, const char* element, int part);
// An integer or a bool.
int64_t integer_at(diopiDtype_t dtype, const char* element);
std::string element_text(diopiDtype_t dtype, const char* element);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_ELEMENT_H_
