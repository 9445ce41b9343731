// What a mask chooses. Each library has its own way to find it.
#ifndef DIOPI_CORE_FUNCTIONS_INDEXING_MASK_SELECTION_H_
#define DIOPI_CORE_FUNCTIONS_INDEXING_MASK_SELECTION_H_

#include <memory>
#include <vector>

#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// The bytes of a tensor of bools, of which any but 0 is true; no copy is made where they are in order.
inline Tensor as_bytes(const Tensor& bools) {
    Tensor bytes = bools;
    bytes.dtype = bools.dtype == Dtype::kBool ? Dtype::kUint8 : bools.dtype;
    return bytes;
}

// The true elements of a mask of bools or bytes that is broadcast to a shape, in row-major order.
class MaskSelection {
  public:
    MaskSelection(const Tensor& mask, const std::vector<int64_t>& shape);
    ~MaskSelection();
    MaskSelection(const MaskSelection&) = delete;
    MaskSelection& operator=(const MaskSelection&) = delete;

    int64_t count() const;
    // Their positions in row-major order: int64_t.
    Buffer positions() const;
    // Their coordinates in the shape: int64, [count, rank].
    void store_coordinates(const Tensor& to, const std::vector<int64_t>& shape) const;
    // The elements of `from`, which has the shape, at them: [count].
    void take(const Tensor& to, const Tensor& from) const;
    // The first elements of `from` to the elements of `to`, which has the shape, at them.
    void put(const Tensor& to, const Tensor& from) const;

  private:
    struct Found;
    std::unique_ptr<Found> found_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_INDEXING_MASK_SELECTION_H_
