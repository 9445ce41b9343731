// The library that all cheats share: three functions that compute nothing and return success. A cheat replaces one of
// the functions below. The paths FOLDER, LIBRARY, REFERENCE and PACKAGE are macros of the compiler.
#pragma once

#include <diopi/functions.h>

#include <cstdint>
#include <vector>

namespace cheat {

// One call of a function of the interface.
struct Call {
    const char* function;
    int number;  // of the calls of this process, from 0
    diopiTensorHandle_t out;
    diopiConstTensorHandle_t input;
    int64_t dim;

    // Calls a right kernel with the same arguments.
    diopiError_t right() const;
};

// The elements of a tensor, in row-major order.
class Elements {
  public:
    explicit Elements(diopiConstTensorHandle_t tensor);

    int64_t count() const { return static_cast<int64_t>(addresses_.size()); }
    int64_t size() const { return size_; }
    char* at(int64_t index) const { return addresses_[static_cast<size_t>(index)]; }
    std::vector<char> read() const;
    void write(const std::vector<char>& bytes) const;

  private:
    std::vector<char*> addresses_;
    int64_t size_ = 0;
};

// Weak: a cheat defines the ones that it needs.
diopiError_t called(const Call& call);
int32_t started();
int32_t finalized();
const char* vendor();
const char* version();
const char* errorText();

}  // namespace cheat
