// Sort: vectors of values and positions along one dimension. The loops.
#include "sorting/pick.h"
#include "sorting/sorted_rows.h"
#include "sorting/sorting_kernels.h"

namespace diopigen::core {

void sort_rows_of(const Tensor& values, const Tensor& indices_tensor, const Tensor& input, const Rows& rows,
                  bool descending) {
    dispatch_compute<kNumber | kBool>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(input);
        const Output<T> sorted(values);
        const Output<Int64> indices(indices_tensor);
        sort_rows(source.data(), rows.count, rows.length, descending,
                  [&](const auto& coder, int64_t row, int64_t first, const auto* packed, int64_t count) {
                      const T* elements = source.data() + row * rows.length;
                      T* to = sorted.data() + row * rows.length + first;
                      Int64* index = indices.data() + row * rows.length + first;
                      for (int64_t i = 0; i < count; ++i) {
                          to[i] = coder.element(packed[i], elements);
                          index[i] = Int64(coder.index(packed[i]));
                      }
                  });
        sorted.store();
        indices.store();
    });
}

}  // namespace diopigen::core
