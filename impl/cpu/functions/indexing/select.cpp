// IndexSelect, Gather and Embedding. All positions are checked before anything is written. Elements are moved as they
// are, so that every dtype goes the same way.
#include <diopi/functions.h>

#include <algorithm>
#include <atomic>

#include "places.h"
#include "positions.h"

using namespace diopi::cpu;

namespace {

void check_positions(const Input<Int64>& index, int64_t count, int64_t size, const char* message) {
    std::atomic<bool> is_wrong{false};
    parallel_for(count, 65536, [&](int64_t begin, int64_t end) {
        if (!are_within(index.data() + begin, end - begin, 0, size)) {
            is_wrong = true;
        }
    });
    require(!is_wrong, message);
}

void check_tensors(const Tensor& out, const Tensor& input, const Tensor& index) {
    require_same_dtype(out, input);
    require_one_device({&out, &input, &index});
    require_no_overlap(out);
    require_disjoint(out, input);
    require_disjoint(out, index);
}

// The elements that positions name in a row-major tensor, where they have been checked.
struct Checked {
    const Input<Int64>& values;
    int64_t operator[](int64_t k) const { return values[k].value; }
};

// The elements of a row that positions name.
template <typename W>
DIOPI_CPU_CLONES void gather_row(W* __restrict to, const W* __restrict row, const Int64* __restrict positions,
                                 int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
        to[k] = row[positions[k].value];
    }
}

// `count` elements in rows of `length` from rows of `size`.
template <typename W>
void gather_rows(W* to, const W* from, const Int64* positions, int64_t count, int64_t length, int64_t size) {
    parallel_for(count, 8192, [&](int64_t begin, int64_t end) {
        while (begin < end) {
            const int64_t row = begin / length;
            const int64_t own = std::min(end, (row + 1) * length) - begin;
            gather_row(to + begin, from + row * size, positions + begin, own);
            begin += own;
        }
    });
}

// Dimension `at` of `input` is replaced by the positions.
void pick(const Tensor& out, const Tensor& input, const Input<Int64>& positions, int64_t count, const Around& place) {
    dispatch_word(input.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(input);
        const NewWords target(out);
        pick_slices(target.as<W>(), source.as<W>(), Checked{positions}, count, place);
        target.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiIndexSelect(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                        diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiIndexSelect", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        require_rank(index_tensor, 1, 1);
        const int64_t count = index_tensor.numel;
        std::vector<int64_t> shape = shape_of(input_tensor);
        const Around place = around(shape_at_least_1d(input_tensor), at);
        if (input_tensor.rank > 0) {
            shape[at] = count;
        }
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const Input<Int64> positions(index_tensor);
        check_positions(positions, count, place.size, "C2: every value of index is in [0, size(input, dim) - 1]");
        pick(out_tensor, input_tensor, positions, count, place);
    });
}

DIOPI_API diopiError_t diopiGather(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, int64_t dim, diopiConstTensorHandle_t index) {
    return guarded("diopiGather", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor index_tensor = tensor("index", index, kIndex);
        const int64_t at = dimension("dim", dim, input_tensor.rank);
        const auto as_vector = [](int64_t rank) { return rank == 0 ? 1 : rank; };
        require(as_vector(index_tensor.rank) == as_vector(input_tensor.rank),
                "C2: index has the rank of input, 0-d counting as 1-d");
        const bool is_flat = input_tensor.rank == 0 || index_tensor.rank == 0;
        for (int64_t i = 0; i < index_tensor.rank && !is_flat; ++i) {
            require(i == at || index_tensor.shape[i] <= input_tensor.shape[i],
                    "C3: index is not larger than input in any dimension but dim");
        }
        require_same_shape(out_tensor, index_tensor);
        check_tensors(out_tensor, input_tensor, index_tensor);
        const int64_t size = input_tensor.rank == 0 ? 1 : input_tensor.shape[at];
        const Input<Int64> positions(index_tensor);
        check_positions(positions, index_tensor.numel, size,
                        "C4: every value of index is in [0, size(input, dim) - 1]");
        if (index_tensor.numel == 0) {
            return;
        }
        const std::vector<int64_t> input_shape = shape_at_least_1d(input_tensor);
        const std::vector<int64_t> index_shape = shape_at_least_1d(index_tensor);
        const Places places(input_shape, index_shape, at);
        // Rows of the index over rows of the input.
        const bool is_rowwise = at + 1 == static_cast<int64_t>(index_shape.size()) &&
                                std::equal(index_shape.begin(), index_shape.end() - 1, input_shape.begin());
        dispatch_word(input_tensor.dtype, [&](auto sample) {
            using W = decltype(sample);
            const Words source(input_tensor);
            const NewWords target(out_tensor);
            if (is_rowwise) {
                gather_rows(target.as<W>(), source.as<W>(), positions.data(), index_tensor.numel, index_shape.back(),
                            input_shape.back());
                target.store();
                return;
            }
            places.for_each(Checked{positions}, [from = source.as<W>(), to = target.as<W>()](int64_t place, int64_t k) {
                to[k] = from[place];
            });
            target.store();
        });
    });
}

DIOPI_API diopiError_t diopiEmbedding(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t indices,
                                      int64_t /*padding_idx*/, bool /*scale_grad_byfreq*/, bool /*sparse*/) {
    return guarded("diopiEmbedding", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor weight_tensor = tensor("weight", weight, kAny);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_rank(weight_tensor, 2, 2);
        std::vector<int64_t> shape = shape_of(indices_tensor);
        shape.push_back(weight_tensor.shape[1]);
        require_shape(out_tensor, shape);
        check_tensors(out_tensor, weight_tensor, indices_tensor);
        const Input<Int64> rows(indices_tensor);
        check_positions(rows, indices_tensor.numel, weight_tensor.shape[0],
                        "C1: every value of indices is in [0, V - 1]");
        pick(out_tensor, weight_tensor, rows, indices_tensor.numel,
             {1, weight_tensor.shape[0], weight_tensor.shape[1]});
    });
}
