// The elements of a tensor whose memory the host can read, by their place in row-major order.
#pragma once

#include <diopi/diopirt.h>

#include <cstdint>
#include <vector>

namespace diopigen::mutant {

class View {
  public:
    View() = default;
    // A handle that is null or does not answer gives a view that is not valid and has no elements.
    explicit View(diopiConstTensorHandle_t handle);

    bool valid() const { return valid_; }
    diopiConstTensorHandle_t handle() const { return handle_; }
    diopiDtype_t dtype() const { return dtype_; }
    int64_t count() const { return count_; }
    int64_t itemsize() const { return itemsize_; }
    int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
    const std::vector<int64_t>& shape() const { return shape_; }
    const std::vector<int64_t>& stride() const { return stride_; }
    // Size of a dimension, negative ones from the end; 1 for a tensor without dimensions.
    int64_t size(int64_t dim) const;
    bool isFloating() const;
    bool isComplex() const;
    bool isIntegral() const;
    bool isBool() const { return dtype_ == diopi_dtype_bool; }
    bool isHalf() const { return dtype_ == diopi_dtype_float16 || dtype_ == diopi_dtype_bfloat16; }
    bool isContiguous() const;

    char* address(int64_t index) const;
    // The number at a place: of a complex one the real part, of integers beyond 2^53 the nearest double.
    double real(int64_t index) const;
    void setReal(int64_t index, double value) const;
    int64_t integerAt(int64_t index) const;
    void setInteger(int64_t index, int64_t value) const;

    // The elements one behind the other.
    std::vector<char> packed() const;
    void unpack(const std::vector<char>& elements) const;
    void copyElement(int64_t to, const View& source, int64_t from) const;

  private:
    diopiConstTensorHandle_t handle_ = nullptr;
    bool valid_ = false;
    diopiDtype_t dtype_ = diopi_dtype_unsupported;
    int64_t count_ = 0, itemsize_ = 0;
    std::vector<int64_t> shape_, stride_;
    char* data_ = nullptr;
};

bool isFloatingDtype(diopiDtype_t dtype);

// A float rounded to the precision of a half, to nearest and to even.
double throughFloat16(double value);
double throughBfloat16(double value);
// A float that keeps `bits` bits behind its leading one.
double withMantissa(double value, int bits);

}  // namespace diopigen::mutant
