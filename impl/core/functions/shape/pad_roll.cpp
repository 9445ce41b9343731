// Pad and Roll: each coordinate of the result comes from a coordinate of the input, dimension by dimension.
#include <algorithm>
#include <numeric>

#include "diopi_core/raw_elements.h"
#include "shape.h"
#include "shape_kernels.h"

using namespace diopigen::core;

namespace {

std::vector<int64_t> identity(int64_t size) {
    std::vector<int64_t> table(static_cast<size_t>(size));
    std::iota(table.begin(), table.end(), 0);
    return table;
}

// The remainder with the sign of the divisor.
int64_t wrapped(int64_t value, int64_t size) {
    const int64_t rest = value % size;
    return rest < 0 ? rest + size : rest;
}

struct Amounts {
    int64_t before = 0;
    int64_t after = 0;
};

enum class Mode { kReflect, kReplicate, kCircular };

// Where the elements of a padded dimension come from. What a negative amount cuts off still counts as the edge for
// reflect and replicate, but not for circular, as in PyTorch.
std::vector<int64_t> padded(int64_t size, const Amounts& amounts, Mode mode) {
    std::vector<int64_t> table = identity(size + amounts.before + amounts.after);
    const int64_t cut_before = std::max<int64_t>(-amounts.before, 0);
    const int64_t remaining = size - cut_before - std::max<int64_t>(-amounts.after, 0);
    for (int64_t& index : table) {
        index -= amounts.before;
        if (mode == Mode::kReplicate) {
            index = std::min(std::max<int64_t>(index, 0), size - 1);
        } else if (mode == Mode::kCircular) {
            index = cut_before + wrapped(index - cut_before, remaining);
        } else {
            index = index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
        }
    }
    return table;
}

// The amounts by dimension. The shape of the result is known to the contract where none is beyond all memory.
std::vector<Amounts> amounts_of(const Tensor& input, diopiSize_t pad) {
    constexpr int64_t kMost = int64_t{1} << 31;
    std::vector<Amounts> amounts(static_cast<size_t>(input.rank));
    for (int64_t k = 0; k < pad.len; ++k) {
        require(pad.data[k] <= kMost && pad.data[k] >= -kMost, "'pad' has an entry beyond all memory");
        Amounts& own = amounts[static_cast<size_t>(input.rank - 1 - k / 2)];
        (k % 2 == 0 ? own.before : own.after) = pad.data[k];
    }
    return amounts;
}

void pad_constant(const Tensor& out, const Tensor& input, const std::vector<Amounts>& amounts, double value) {
    fill(out, Number::of(value));
    // The part of the input that remains, and where it is in the result.
    std::vector<int64_t> shape;
    int64_t read = 0;
    int64_t written = 0;
    for (int64_t dim = 0; dim < input.rank; ++dim) {
        const Amounts& own = amounts[static_cast<size_t>(dim)];
        const int64_t cut = std::max<int64_t>(-own.before, 0);
        shape.push_back(input.shape[dim] - cut - std::max<int64_t>(-own.after, 0));
        if (shape.back() <= 0) {
            return;
        }
        read += cut * input.strides[dim];
        written += std::max<int64_t>(own.before, 0) * out.strides[dim];
    }
    const View from(input, shape, {input.strides, input.strides + input.rank}, read);
    const View to(out, shape, {out.strides, out.strides + out.rank}, written);
    copy_elements(to.tensor(), from.tensor());
}

}  // namespace

void diopigen::entry::pad(const PadArgs& args) {
    require(args.out.rank >= args.input.rank, "'out' has fewer dimensions than 'input'");
    require_disjoint(args.out, args.input);
    const std::vector<Amounts> amounts = amounts_of(args.input, args.pad);
    if (args.mode == "constant") {
        pad_constant(args.out, args.input, amounts, args.value.value_or(0));
        return;
    }
    if (args.out.numel == 0) {
        return;
    }
    const Mode mode = args.mode == "reflect"     ? Mode::kReflect
                      : args.mode == "replicate" ? Mode::kReplicate
                                                 : Mode::kCircular;
    Tables tables;
    for (size_t dim = 0; dim < amounts.size(); ++dim) {
        tables.push_back(padded(args.input.shape[dim], amounts[dim], mode));
    }
    gather_tables(args.out, args.input, shape_of(args.input), tables);
}

void diopigen::entry::roll(const RollArgs& args) {
    require_disjoint(args.out, args.input);
    const bool is_flat = args.dims.len == 0;
    const std::vector<int64_t> shape = is_flat ? std::vector<int64_t>{args.input.numel} : shape_at_least_1d(args.input);
    std::vector<int64_t> amounts(shape.size(), 0);
    for (int64_t i = 0; i < args.shifts.len; ++i) {
        const int64_t dim = is_flat ? 0 : wrap_dim(args.dims.data[i], args.input.rank);
        const int64_t size = std::max<int64_t>(shape[dim], 1);
        amounts[dim] = (amounts[dim] + wrapped(args.shifts.data[i], size)) % size;
    }
    Tables tables;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
        tables.push_back(identity(shape[dim]));
        std::rotate(tables[dim].begin(), tables[dim].end() - amounts[dim], tables[dim].end());
    }
    gather_tables(args.out, args.input, shape, tables);
}
