// OneHot and EmbeddingRenorm_.
#include "diopi_core/math.h"
#include "diopi_cuda/atomic.h"
#include "diopi_cuda/fast_divmod.h"
#include "diopi_cuda/order_norm.h"
#include "indexing/indexing_kernels.h"

namespace diopigen::cuda {

namespace {

struct Largest {
    int64_t class_number;
    int64_t is_negative;  // whether any is
};

void find_largest(Largest* largest, const Int64* classes, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (classes[i].value < 0) {
            largest->is_negative = 1;
        } else {
            atomic_max(&largest->class_number, classes[i].value);
        }
    });
}

template <typename T>
void mark(T* rows, const Int64* positions, int64_t count, int64_t classes) {
    const FastDivmod by_classes(classes);
    for_each(count * classes, [=] DIOPI_KERNEL(int64_t i) {
        int64_t own = i;
        const int64_t row = by_classes.split(own);
        rows[i] = T(positions[row].value == own ? 1 : 0);
    });
}

void mark_rows(int* marks, const Int64* positions, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) { marks[positions[k].value] = 1; });
}

void cut_marked(const Dims& dims, const Operand& table, const int* marks, int64_t rows, int64_t width, double max_norm,
                const OrderNorm& norm) {
    for_groups(rows, threads_for(width), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        if (marks[row] == 0) {
            return;  // for all threads of the group
        }
        double sum = norm.identity();
        for (int64_t i = group.thread(); i < width; i += group.size()) {
            const double x = load<double>(table.at(dims, row * width + i), table.dtype);
            sum = norm.join(sum, norm.term(x < 0 ? -x : x));
        }
        sum = group.reduce(sum, [=](double a, double b) { return norm.join(a, b); });
        const double size = norm.finish(sum);
        if (!(size > max_norm)) {
            return;
        }
        const double factor = max_norm / (size + 1e-7);
        for (int64_t i = group.thread(); i < width; i += group.size()) {
            char* at = table.at(dims, row * width + i);
            store<double>(at, table.dtype, load<double>(at, table.dtype) * factor);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

int64_t largest_class(const Tensor& classes) {
    const Input<Int64> numbers(classes);
    Buffer memory;
    memory.allocate(sizeof(cuda::Largest));
    cuda::clear(memory.data(), sizeof(cuda::Largest));
    cuda::find_largest(static_cast<cuda::Largest*>(memory.data()), numbers.data(), classes.numel);
    cuda::Largest largest{};
    cuda::read_back(&largest, memory.data(), sizeof largest);
    return largest.is_negative != 0 ? -1 : largest.class_number;
}

void mark_classes(const Tensor& out, const Positions& positions) {
    dispatch<kIndex>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const RawOutput rows(out);
        cuda::mark<T>(rows.as<T>(), positions.data(), positions.count(), positions.size());
        rows.store();
    });
}

void cut_rows(const Tensor& table, const Positions& positions, double max_norm, double order) {
    cuda::require_on_device(table);
    const int64_t rows = table.shape[0];
    Buffer marks;
    marks.allocate(rows * static_cast<int64_t>(sizeof(int)));
    cuda::clear(marks.data(), static_cast<size_t>(rows) * sizeof(int));
    cuda::mark_rows(static_cast<int*>(marks.data()), positions.data(), positions.count());
    const Tensor* tensors[] = {&table};
    cuda::Operand operand;
    const cuda::Dims dims = cuda::walk(table, tensors, &operand, 1);
    cuda::cut_marked(dims, operand, static_cast<const int*>(marks.data()), rows, table.shape[1], max_norm, {order});
}

}  // namespace diopigen::core
