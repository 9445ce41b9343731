// The functions of shape rules. Each returns false where the arguments have no such shape.
#ifndef DIOPIGEN_CONTRACT_SHAPES_H_
#define DIOPIGEN_CONTRACT_SHAPES_H_

#include <vector>

#include "value.h"

namespace diopigen::contract {

// A dimension counted from the front; a 0-d tensor counts as 1-d.
bool axisOf(int64_t dim, int64_t rank, int64_t& axis);
bool broadcast(const Sizes& first, const Sizes& second, Sizes& result);
// Without the dimensions, or with size 1 there; without any named, all of them.
bool reduce(const Sizes& shape, const Sizes& dims, bool keepdim, Sizes& result);
bool without(const Sizes& shape, int64_t dim, Sizes& result);
bool resize(const Sizes& shape, int64_t dim, int64_t size, Sizes& result);
bool matmul(const Sizes& first, const Sizes& second, Sizes& result);
bool conv(const Sizes& shape, const Sizes& weight, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
          Sizes& result);
bool convTranspose(const Sizes& shape, const Sizes& weight, const Sizes& stride, const Sizes& padding,
                   const Sizes& outputPadding, int64_t groups, const Sizes& dilation, Sizes& result);
bool pool(const Sizes& shape, const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
          bool ceilMode, Sizes& result);
bool adaptivePool(const Sizes& shape, const Sizes& output, Sizes& result);
bool concat(const std::vector<Sizes>& shapes, int64_t dim, Sizes& result);
bool stack(const std::vector<Sizes>& shapes, int64_t dim, Sizes& result);
bool permute(const Sizes& shape, const Sizes& order, Sizes& result);
bool transpose(const Sizes& shape, int64_t first, int64_t second, Sizes& result);
bool repeat(const Sizes& shape, const Sizes& times, Sizes& result);
bool pad(const Sizes& shape, const Sizes& pads, Sizes& result);
bool unfold(const Sizes& shape, int64_t dim, int64_t size, int64_t step, Sizes& result);
bool slice(const Sizes& shape, int64_t dim, int64_t start, int64_t end, int64_t step, Sizes& result);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_SHAPES_H_
