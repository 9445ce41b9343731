// What a mask chooses: each element's number is the sum of the bools before it.
#include "diopi_cuda/operand.h"
#include "diopi_cuda/primitives.h"
#include "indexing/mask_selection.h"

namespace diopigen::cuda {

namespace {

// One entry more than there are elements: the last sum is that of all.
void mark_true(int64_t* marks, const Uint8* mask, int64_t count) {
    for_each(count + 1, [=] DIOPI_KERNEL(int64_t i) { marks[i] = i < count && mask[i].value != 0 ? 1 : 0; });
}

void list_positions(int64_t* positions, const Uint8* mask, const int64_t* numbers, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (mask[i].value != 0) {
            positions[numbers[i]] = i;
        }
    });
}

void list_coordinates(Int64* to, const Uint8* mask, const int64_t* numbers, const Dims& dims, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (mask[i].value != 0) {
            Int64* own = to + numbers[i] * dims.rank;
            int64_t rest = i;
            for (int d = dims.rank - 1; d >= 0; --d) {
                own[d] = Int64(rest % dims.sizes[d]);
                rest /= dims.sizes[d];
            }
        }
    });
}

template <typename W>
void take(W* to, const W* from, const Uint8* mask, const int64_t* numbers, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (mask[i].value != 0) {
            to[numbers[i]] = from[i];
        }
    });
}

template <typename W>
void put(W* to, const W* from, const Uint8* mask, const int64_t* numbers, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (mask[i].value != 0) {
            to[i] = from[numbers[i]];
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

struct MaskSelection::Found {
    View view;
    Input<Uint8> mask;
    int64_t numel;
    int64_t count = 0;
    Buffer memory;

    Found(const Tensor& tensor, const std::vector<int64_t>& shape)
        : view(expanded(as_bytes(tensor), shape)), mask(view.tensor()), numel(view.tensor().numel) {
        cuda::require_on_device(tensor);
        const int64_t bytes = static_cast<int64_t>(sizeof(int64_t));
        memory.allocate((numel + 1) * bytes);
        auto* const numbers = static_cast<int64_t*>(memory.data());
        cuda::mark_true(numbers, mask.data(), numel);
        cuda::sum_before_each(numbers, numbers, numel + 1);
        cuda::read_back(&count, numbers + numel, sizeof count);
    }
    const int64_t* numbers() const { return static_cast<const int64_t*>(memory.data()); }
};

MaskSelection::MaskSelection(const Tensor& mask, const std::vector<int64_t>& shape) : found_(new Found(mask, shape)) {}

MaskSelection::~MaskSelection() = default;

int64_t MaskSelection::count() const { return found_->count; }

void MaskSelection::store_coordinates(const Tensor& to, const std::vector<int64_t>& shape) const {
    require(shape.size() <= cuda::kMaxDims, "parameter 'input' has too many dimensions");
    cuda::Dims dims;
    dims.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), dims.sizes);
    const Output<Int64> coordinates(to);
    cuda::list_coordinates(coordinates.data(), found_->mask.data(), found_->numbers(), dims, found_->numel);
    coordinates.store();
}

void MaskSelection::take(const Tensor& to, const Tensor& from) const {
    dispatch_word(from.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(from);
        const RawOutput target(to);
        cuda::take<W>(target.as<W>(), source.as<W>(), found_->mask.data(), found_->numbers(), found_->numel);
        target.store();
    });
}

void MaskSelection::put(const Tensor& to, const Tensor& from) const {
    dispatch_word(to.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(from);
        const Changed changed(to, to.dtype);
        cuda::put<W>(changed.as<W>(), source.as<W>(), found_->mask.data(), found_->numbers(), found_->numel);
        changed.store();
    });
}

Buffer MaskSelection::positions() const {
    Buffer positions;
    positions.allocate(found_->count * static_cast<int64_t>(sizeof(int64_t)));
    cuda::list_positions(static_cast<int64_t*>(positions.data()), found_->mask.data(), found_->numbers(),
                         found_->numel);
    return positions;
}

}  // namespace diopigen::core
