// What a launch, a check of a call, and every call into the simulated device returns.
#ifndef DIOPIGEN_KERNELS_STATUS_H_
#define DIOPIGEN_KERNELS_STATUS_H_

#include <string>
#include <utility>

namespace diopigen::kernels {

enum class Code {
    ok = 0,
    invalidArgument = 1,  ///< a null, an index or a handle that there is not; an environment that cannot be read
    outOfMemory = 2,      ///< the limit of the device is reached
    invalidPointer = 3,   ///< no device memory, freed already, or a range that reaches beyond its allocation
    wrongDevice = 4,      ///< memory of another device than that of the stream
    unsupported = 5,      ///< the chip cannot do it: operator, layout, rank, alignment
    kernelFailed = 6,     ///< a kernel threw
    unordered = 7,        ///< two uses of memory on streams that nothing orders
    unsupportedDtype = 8  ///< the chip does not take the dtype of a tensor
};

/// A code and, unless it is ok, a text that says what is wrong and where.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Code code, std::string text) : code_(code), text_(std::move(text)) {}

    bool ok() const { return code_ == Code::ok; }
    Code code() const { return code_; }
    const std::string& text() const { return text_; }

  private:
    Code code_ = Code::ok;
    std::string text_;
};

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_STATUS_H_
