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
    explicit Repeated(c10::IntArrayRef given) : given_(given) {
        if (given.size() == 1) {
            own_.fill(given[0]);
            given_ = own_;
        }
    }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;
    operator diopiSize_t() const { return {given_.data(), static_cast<int64_t>(given_.size())}; }

  private:
    c10::IntArrayRef given_;
    std::array<int64_t, Count> own_{};
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_REPEATED_H_
