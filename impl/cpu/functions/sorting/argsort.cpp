// Argsort. The order of equals is kept in any case.
#include <diopi/functions.h>

#include "sorted_rows.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiArgsort(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, bool /*stable*/, const int64_t* dim,
                                    bool descending) {
    return guarded("diopiArgsort", [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const int64_t at = dimension("dim", dim == nullptr ? -1 : *dim, input_tensor.rank);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const Rows rows = rows_over(input_tensor, "dim", &at);
        const View from = permuted(input_tensor, rows.order());
        const View to = permuted(out_tensor, rows.order());
        dispatch_compute<kNumber | kBool>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> source(from.tensor());
            const Output<Int64> places(to.tensor());
            sort_rows(source.data(), rows.count, rows.length, descending,
                      [&](const auto& coder, int64_t row, int64_t first, const auto* words, int64_t count) {
                          Int64* place = places.data() + row * rows.length + first;
                          for (int64_t i = 0; i < count; ++i) {
                              place[i] = Int64(coder.place(words[i]));
                          }
                      });
            places.store();
        });
    });
}
