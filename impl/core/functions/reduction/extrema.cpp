// The largest and smallest elements and where they stand: Amax, Max, Min, MaxAll, MinAll, Argmax, Argmin. NaN counts as
// more extreme than every number; of several equal elements the first counts.
#include "diopi_core/arguments.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

namespace {

void extremes_along(const Tensor& values, const Tensor& indices, const Tensor& input, int64_t dim, bool is_largest) {
    require_disjoint(values, input);
    require_disjoint(indices, input);
    extreme_indices(values, indices, input, rows_over(input, dim), is_largest);
}

void extreme_of_all(const Tensor& value, const Tensor& input, bool is_largest) {
    require_disjoint(value, input);
    extreme_values(value, input, rows_over(input, std::nullopt), is_largest);
}

void positions(const Tensor& out, const Tensor& input, std::optional<int64_t> dim, bool is_largest) {
    require_dtype_of(input, kNumber | kBool);
    require_disjoint(out, input);
    extreme_indices(Tensor(), out, input, rows_over(input, dim), is_largest);
}

}  // namespace

void diopigen::entry::amax(const AmaxArgs& args) {
    require_disjoint(args.out, args.self);
    extreme_values(args.out, args.self, rows_over(args.self, args.dim), true);
}

void diopigen::entry::max(const MaxArgs& args) {
    extremes_along(args.max, args.max_indices, args.input, args.dim, true);
}

void diopigen::entry::min(const MinArgs& args) {
    extremes_along(args.min, args.min_indices, args.input, args.dim, false);
}

void diopigen::entry::max_all(const MaxAllArgs& args) { extreme_of_all(args.max, args.input, true); }

void diopigen::entry::min_all(const MinAllArgs& args) { extreme_of_all(args.min, args.input, false); }

void diopigen::entry::argmax(const ArgmaxArgs& args) { positions(args.out, args.input, args.dim, true); }

void diopigen::entry::argmin(const ArgminArgs& args) { positions(args.out, args.input, args.dim, false); }
