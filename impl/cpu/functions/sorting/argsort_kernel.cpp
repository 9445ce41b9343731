// Argsort. The order of equals is kept in any case. The loops.
#include "sorting/kernels.h"
#include "sorting/sorted_rows.h"

namespace diopi::core {

void argsort_rows_of(const Tensor& places_tensor, const Tensor& input, const Rows& rows, bool descending) {
    dispatch_compute<kNumber | kBool>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(input);
        const Output<Int64> places(places_tensor);
        sort_rows(source.data(), rows.count, rows.length, descending,
                  [&](const auto& coder, int64_t row, int64_t first, const auto* words, int64_t count) {
                      Int64* place = places.data() + row * rows.length + first;
                      for (int64_t i = 0; i < count; ++i) {
                          place[i] = Int64(coder.place(words[i]));
                      }
                  });
        places.store();
    });
}

}  // namespace diopi::core
