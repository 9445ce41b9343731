// Sort and Topk. NaN counts as larger than every number. Equal elements keep their order, also when descending, as
// torch.sort does on the CPU; Topk takes the first of several equal elements.
#include <diopi/functions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_cpu/math.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

// Whether a comes before b among elements in rising order.
template <typename T>
bool is_below(T a, T b) {
    return a < b || (isnan(b) && !isnan(a));
}

void check(const Tensor& values, const Tensor& indices, const Tensor& input) {
    require_same_dtype(values, input);
    require_one_device({&input, &values, &indices});
    for (const Tensor* written : {&values, &indices}) {
        require_no_overlap(*written);
        require_disjoint(*written, input);
    }
    require_disjoint(values, indices);
}

// Puts the first `taken` elements of every row in order.
template <DtypeSet set>
void order_rows(const Tensor& values, const Tensor& indices, const Tensor& input, int64_t dim, int64_t taken,
                bool descending) {
    const Rows rows = rows_over(input, "dim", &dim);
    const View from = permuted(input, rows.order());
    const View to_values = permuted(values, rows.order());
    const View to_indices = permuted(indices, rows.order());
    dispatch_compute<set>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(from.tensor());
        const Output<T> sorted(to_values.tensor());
        const Output<Int64> places(to_indices.tensor());
        parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
            std::vector<int64_t> order(static_cast<size_t>(rows.length));
            for (int64_t row = begin; row < end; ++row) {
                const T* elements = source.data() + row * rows.length;
                std::iota(order.begin(), order.end(), 0);
                const auto comes_first = [&](int64_t a, int64_t b) {
                    const T left = descending ? elements[b] : elements[a];
                    const T right = descending ? elements[a] : elements[b];
                    return is_below(left, right) || (!is_below(right, left) && a < b);
                };
                std::partial_sort(order.begin(), order.begin() + taken, order.end(), comes_first);
                for (int64_t i = 0; i < taken; ++i) {
                    sorted[row * taken + i] = elements[order[i]];
                    places[row * taken + i] = Int64(order[i]);
                }
            }
        });
        sorted.store();
        places.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiSort(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                                 diopiConstTensorHandle_t input, int64_t dim, bool descending,
                                 const bool* /*pStable: the order of equals is kept in any case*/) {
    return guarded("diopiSort", [&] {
        const Tensor values_tensor = tensor("values", values, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber | kBool);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        require_same_shape(values_tensor, input_tensor);
        require_same_shape(indices_tensor, input_tensor);
        check(values_tensor, indices_tensor, input_tensor);
        const int64_t length = input_tensor.rank == 0 ? 1 : input_tensor.shape[at];
        order_rows<kNumber | kBool>(values_tensor, indices_tensor, input_tensor, at, length, descending);
    });
}

DIOPI_API diopiError_t diopiTopk(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t values, diopiTensorHandle_t indices,
                                 diopiConstTensorHandle_t input, int64_t k, int64_t dim, bool largest,
                                 bool /*sorted: they come in order in any case*/) {
    return guarded("diopiTopk", [&] {
        const Tensor values_tensor = tensor("values", values, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        const Tensor input_tensor = tensor("input", input, kNumber);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        std::vector<int64_t> shape = shape_of(input_tensor);
        require(k >= 0 && k <= (shape.empty() ? 1 : shape[at]),
                "C2: k is in [0, size(input, dim)], a 0-d input having size 1");
        if (!shape.empty()) {
            shape[at] = k;
        }
        require_shape(values_tensor, shape);
        require_shape(indices_tensor, shape);
        check(values_tensor, indices_tensor, input_tensor);
        if (values_tensor.numel > 0) {
            order_rows<kNumber>(values_tensor, indices_tensor, input_tensor, at, shape.empty() ? 1 : k, largest);
        }
    });
}
