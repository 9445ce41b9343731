// Lists that PyTorch lets stand for several dimensions with one entry.
#ifndef DIOPIGEN_TORCH_REPEATED_H_
#define DIOPIGEN_TORCH_REPEATED_H_

#include <c10/util/ArrayRef.h>
#include <diopi/diopirt.h>

#include <array>

namespace diopigen::backend {

/// `given`, with one entry as `Count` of them; an empty list stays empty. `given` must outlive the call.
template <size_t Count>
class Repeated {
  public:
    explicit Repeated(c10::IntArrayRef values) : values_(values) {
        if (values.size() == 1) {
            own_.fill(values[0]);
            values_ = own_;
        }
    }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;
    operator diopiSize_t() const { return {values_.data(), static_cast<int64_t>(values_.size())}; }

  private:
    c10::IntArrayRef values_;
    std::array<int64_t, Count> own_{};
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_REPEATED_H_
