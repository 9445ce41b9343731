// Pad and Roll: each coordinate of the result comes from a coordinate of the input, dimension by dimension.
#include <diopi/functions.h>

#include <cstring>
#include <numeric>

#include "diopi_cpu/words.h"
#include "kernels.h"

using namespace diopi::cpu;

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
    const int64_t kept = size - cut_before - std::max<int64_t>(-amounts.after, 0);
    for (int64_t& place : table) {
        place -= amounts.before;
        if (mode == Mode::kReplicate) {
            place = std::min(std::max<int64_t>(place, 0), size - 1);
        } else if (mode == Mode::kCircular) {
            place = cut_before + wrapped(place - cut_before, kept);
        } else {
            place = place < 0 ? -place : place >= size ? 2 * (size - 1) - place : place;
        }
    }
    return table;
}

// The amounts by dimension, checked for all modes.
std::vector<Amounts> amounts_of(const Tensor& input, diopiSize_t pad) {
    require_sizes("pad", pad);
    require(pad.len % 2 == 0, "parameter 'pad' has an odd number of entries");
    require(pad.len <= 2 * input.rank, "parameter 'pad' has more than two entries for every dimension of 'input'");
    std::vector<Amounts> amounts(static_cast<size_t>(input.rank));
    for (int64_t k = 0; k < pad.len / 2; ++k) {
        const int64_t dim = input.rank - 1 - k;
        const Amounts own{pad.data[2 * k], pad.data[2 * k + 1]};
        constexpr int64_t kMost = INT64_MAX / 4;
        require(std::max(own.before, own.after) < kMost && std::min(own.before, own.after) > -kMost,
                "parameter 'pad' has an entry beyond all memory");
        require(input.shape[dim] + own.before + own.after >= 0, "parameter 'pad' cuts off more than a dimension has");
        amounts[static_cast<size_t>(dim)] = own;
    }
    return amounts;
}

// The further checks of the modes that repeat elements.
void require_mode(const Tensor& input, diopiSize_t pad, const std::vector<Amounts>& amounts, Mode mode) {
    const int64_t dims = pad.len / 2;
    require(dims >= 1 && dims <= 3 && input.rank - dims >= 1 && input.rank - dims <= 2,
            "parameter 'pad': modes other than constant pad one to three dimensions behind one or two more");
    for (int64_t dim = input.rank - dims; dim < input.rank; ++dim) {
        const int64_t size = input.shape[dim];
        const Amounts& own = amounts[static_cast<size_t>(dim)];
        const int64_t largest = std::max(own.before, own.after);
        require(mode != Mode::kReflect || largest < size, "parameter 'pad' reflects more than a dimension has");
        require(mode != Mode::kCircular || largest <= size, "parameter 'pad' goes around a dimension more than once");
        const int64_t cut = std::min<int64_t>(own.before, 0) + std::min<int64_t>(own.after, 0);
        const int64_t kept = mode == Mode::kCircular ? size + cut : size;
        require(
            kept > 0 || size + own.before + own.after == 0,
            "C6: in every mode but constant, input has elements to repeat where out has any; what circular cuts off "
            "is not among them");
    }
}

void pad_constant(const Tensor& out, const Tensor& input, const std::vector<Amounts>& amounts, double value) {
    fill(out, Number::of(value));
    // The part of the input that is kept, and where it lies in the result.
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

DIOPI_API diopiError_t diopiPad(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t pad, const char* mode, const double* value) {
    return guarded("diopiPad", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        require_text("mode", mode, {"constant", "reflect", "replicate", "circular"});
        const std::vector<Amounts> amounts = amounts_of(input_tensor, pad);
        const bool is_constant = std::strcmp(mode, "constant") == 0;
        const Mode kind = std::strcmp(mode, "reflect") == 0     ? Mode::kReflect
                          : std::strcmp(mode, "replicate") == 0 ? Mode::kReplicate
                                                                : Mode::kCircular;
        if (!is_constant) {
            require_mode(input_tensor, pad, amounts, kind);
        }
        std::vector<int64_t> shape = shape_of(input_tensor);
        for (size_t dim = 0; dim < shape.size(); ++dim) {
            shape[dim] += amounts[dim].before + amounts[dim].after;
        }
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, shape);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        if (is_constant) {
            pad_constant(out_tensor, input_tensor, amounts, value == nullptr ? 0 : *value);
            return;
        }
        if (out_tensor.numel == 0) {
            return;
        }
        Tables tables;
        for (size_t dim = 0; dim < shape.size(); ++dim) {
            tables.push_back(padded(input_tensor.shape[dim], amounts[dim], kind));
        }
        gather_tables(out_tensor, input_tensor, shape_of(input_tensor), tables);
    });
}

DIOPI_API diopiError_t diopiRoll(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t shifts, diopiSize_t dims) {
    return guarded("diopiRoll", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        require_sizes("shifts", shifts);
        require_sizes("dims", dims);
        require(shifts.len == (dims.len == 0 ? 1 : dims.len),
                "parameter 'shifts' has not one entry for each of 'dims', or one where 'dims' is empty");
        const bool is_flat = dims.len == 0;
        const std::vector<int64_t> shape =
            is_flat ? std::vector<int64_t>{input_tensor.numel} : shape_at_least_1d(input_tensor);
        std::vector<int64_t> amounts(shape.size(), 0);
        for (int64_t i = 0; i < shifts.len; ++i) {
            const int64_t dim = is_flat ? 0 : dimension("dims", dims.data[i], input_tensor.rank);
            const int64_t size = std::max<int64_t>(shape[dim], 1);
            amounts[dim] = (amounts[dim] + wrapped(shifts.data[i], size)) % size;
        }
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        Tables tables;
        for (size_t dim = 0; dim < shape.size(); ++dim) {
            tables.push_back(identity(shape[dim]));
            std::rotate(tables[dim].begin(), tables[dim].end() - amounts[dim], tables[dim].end());
        }
        gather_tables(out_tensor, input_tensor, shape, tables);
    });
}
