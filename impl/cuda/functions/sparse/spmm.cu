// Products with matrices in compressed sparse rows: a thread for each element of the result.
#include "diopi_cuda/launch.h"
#include "sparse/kernels.h"

namespace diopi::cuda {

namespace {

// Sets the flag of each fault that is there.
void mark_faults(int* flags, const Int64* starts, const Int64* columns, int64_t rows, int64_t width, int64_t stored) {
    const int64_t count = rows + 1 < stored ? stored : rows + 1;
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if ((i == 0 && starts[0].value != 0) || (i == rows && starts[rows].value != stored)) {
            flags[static_cast<int>(CsrFault::kEnds)] = 1;
        }
        if (i < rows && starts[i + 1].value < starts[i].value) {
            flags[static_cast<int>(CsrFault::kFalls)] = 1;
        }
        if (i < stored && (columns[i].value < 0 || columns[i].value >= width)) {
            flags[static_cast<int>(CsrFault::kColumn)] = 1;
        }
    });
}

template <typename T>
void multiply(T* result, const T* values, const T* dense, const Int64* starts, const Int64* columns, int64_t rows,
              int64_t width) {
    for_each(rows * width, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / width;
        const int64_t i = at % width;
        double sum = 0;
        for (int64_t k = starts[row].value; k < starts[row + 1].value; ++k) {
            sum += static_cast<double>(values[k]) * static_cast<double>(dense[columns[k].value * width + i]);
        }
        result[at] = static_cast<T>(sum);
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

CsrFault find_fault(const Input<Int64>& starts, const Input<Int64>& columns, int64_t rows, int64_t width,
                    int64_t stored) {
    constexpr size_t kFaults = 4;
    int flags[kFaults] = {};
    Buffer memory;
    memory.allocate(sizeof flags);
    cuda::clear(memory.data(), sizeof flags);
    cuda::mark_faults(static_cast<int*>(memory.data()), starts.data(), columns.data(), rows, width, stored);
    cuda::read_back(flags, memory.data(), sizeof flags);
    for (const CsrFault fault : {CsrFault::kEnds, CsrFault::kFalls, CsrFault::kColumn}) {
        if (flags[static_cast<int>(fault)] != 0) {
            return fault;
        }
    }
    return CsrFault::kNone;
}

void multiply_sparse(const Tensor& out, const Tensor& values_tensor, const Tensor& dense_tensor,
                     const Input<Int64>& starts, const Input<Int64>& columns) {
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(values_tensor);
        const Input<T> dense(dense_tensor);
        const Output<T> result(out);
        cuda::multiply<T>(result.data(), values.data(), dense.data(), starts.data(), columns.data(), out.shape[0],
                          out.shape[1]);
        result.store();
    });
}

}  // namespace diopi::cpu
