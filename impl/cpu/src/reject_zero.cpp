// The look for zeros among the elements of a divisor.
#include <cstring>
#include <vector>

#include "diopi_core/elementwise.h"
#include "diopi_core/strided.h"

namespace diopigen::core {

void Elementwise::reject_zero(int k, const char* message) const {
    const Tensor& tensor = *inputs_[k].tensor;
    if (shape_source().numel == 0) {
        return;  // nothing is divided
    }
    const Strided operand = strided(tensor, logical_order(tensor.shape, tensor.rank), tensor.rank);
    std::vector<char> gathered(static_cast<size_t>(kBlock * operand.element));
    std::vector<char> bools(static_cast<size_t>(kBlock));
    for (int64_t start = 0; start < tensor.numel; start += kBlock) {
        const int64_t count = tensor.numel - start < kBlock ? tensor.numel - start : kBlock;
        operand.gather(start, count, gathered.data());
        convert(tensor.dtype, gathered.data(), Dtype::kBool, bools.data(), count);
        require(std::memchr(bools.data(), 0, static_cast<size_t>(count)) == nullptr, message);
    }
}

}  // namespace diopigen::core
