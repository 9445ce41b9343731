#include "attention/operands.h"
#include "diopi_core/reduction.h"
#include "diopi_core/strided.h"

namespace diopigen::core::attention {

std::vector<int64_t> indices(const Tensor& tensor) {
    const Input<Int64> elements(tensor);
    std::vector<int64_t> values(static_cast<size_t>(tensor.numel));
    for (int64_t i = 0; i < tensor.numel; ++i) {
        values[static_cast<size_t>(i)] = elements[i].value;
    }
    return values;
}

template <typename T>
std::vector<T> gather_rows(const Tensor& tensor, const std::vector<int64_t>& rows, int64_t width) {
    const Strided elements = strided(tensor, logical_order(tensor.shape, tensor.rank), tensor.rank);
    const auto count = static_cast<int64_t>(rows.size());
    std::vector<T> gathered(static_cast<size_t>(count * width));
    parallel_for(count, row_grain(width), [&](int64_t begin, int64_t end) {
        std::vector<char> bytes(static_cast<size_t>(width * size_of(tensor.dtype)));
        for (int64_t i = begin; i < end; ++i) {
            elements.gather(rows[static_cast<size_t>(i)] * width, width, bytes.data());
            convert(tensor.dtype, bytes.data(), dtype_of<T>, gathered.data() + i * width, width);
        }
    });
    return gathered;
}

template std::vector<float> gather_rows<float>(const Tensor&, const std::vector<int64_t>&, int64_t);
template std::vector<double> gather_rows<double>(const Tensor&, const std::vector<int64_t>&, int64_t);

}  // namespace diopigen::core::attention
