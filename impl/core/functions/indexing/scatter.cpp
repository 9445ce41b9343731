// Scatter with tensors and with numbers, and the gradient of Gather. Elements along `dim` are taken in rising order by
// one thread, so that sums do not depend on the number of threads and the last of repeated positions stays.
#include "indexing.h"
#include "indexing_kernels.h"

using namespace diopigen::core;

namespace {

Reduce reduce_of(std::string_view reduce) {
    return reduce.empty() ? Reduce::kNone : reduce == "add" ? Reduce::kAdd : Reduce::kMultiply;
}

// Where the index points to.
struct Job {
    Job(const Tensor& target, int64_t dim, const Tensor& index)
        : at(wrap_dim(dim, target.rank)),
          positions(index, shape_at_least_1d(target)[static_cast<size_t>(at)]),
          shape(shape_at_least_1d(index)) {
        require_disjoint(target, index);
    }

    int64_t at;
    Positions positions;
    std::vector<int64_t> shape;  // of the index
};

void scatter_tensor(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& src, const Tensor& index,
                    std::string_view reduce) {
    require_disjoint(target, src);
    const Job job(target, dim, index);
    copy_unless_same(target, input);
    if (index.numel == 0) {
        return;
    }
    // The elements of src that have an index.
    const std::vector<int64_t> strides(src.strides, src.strides + src.rank);
    const View part(src, src.rank == 0 ? std::vector<int64_t>{} : job.shape, strides);
    scatter_elements(target, part.tensor(), job.positions, job.shape, job.at, reduce_of(reduce));
}

void scatter_value(const Tensor& target, const Tensor& input, int64_t dim, const Number& value, const Tensor& index,
                   std::string_view reduce) {
    const Job job(target, dim, index);
    copy_unless_same(target, input);
    if (index.numel > 0) {
        scatter_number(target, value, job.positions, job.shape, job.at, reduce_of(reduce));
    }
}

}  // namespace

void diopigen::entry::scatter(const ScatterArgs& args) {
    scatter_tensor(args.out, args.input, args.dim, args.src, args.index, args.reduce);
}

void diopigen::entry::scatter_inp(const ScatterInpArgs& args) {
    scatter_tensor(args.input, args.input, args.dim, args.src, args.index, args.reduce);
}

void diopigen::entry::scatter_scalar(const ScatterScalarArgs& args) {
    scatter_value(args.out, args.input, args.dim, args.value, args.index, args.reduce);
}

void diopigen::entry::scatter_inp_scalar(const ScatterInpScalarArgs& args) {
    scatter_value(args.input, args.input, args.dim, args.value, args.index, args.reduce);
}

void diopigen::entry::gather_backward(const GatherBackwardArgs& args) {
    require_disjoint(args.grad_input, args.grad_output);
    const Job job(args.grad_input, args.dim, args.index);
    if (args.index.numel == 0) {  // of any rank
        fill(args.grad_input, Number::of(0));
        return;
    }
    gather_gradient(args.grad_input, args.grad_output, job.positions, job.shape, job.at);
}
