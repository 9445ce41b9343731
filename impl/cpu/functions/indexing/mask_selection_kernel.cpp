#include "indexing/mask_selection.h"
#include "mask.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// The coordinates of an element.
void store_coordinates_of(Int64* to, int64_t position, const std::vector<int64_t>& shape) {
    for (size_t d = shape.size(); d-- > 0;) {
        to[d] = Int64(position % shape[d]);
        position /= shape[d];
    }
}

// The same in two dimensions for positions in rising order, almost without divisions.
void store_pairs(Int64* to, const int64_t* positions, int64_t count, int64_t width) {
    int64_t row = positions[0] / width;
    int64_t first = row * width;
    for (int64_t i = 0; i < count; ++i) {
        if (positions[i] - first >= width) {
            row = positions[i] / width;
            first = row * width;
        }
        to[2 * i] = Int64(row);
        to[2 * i + 1] = Int64(positions[i] - first);
    }
}

}  // namespace

struct MaskSelection::Found {
    Mask mask;
};

MaskSelection::MaskSelection(const Tensor& mask, const std::vector<int64_t>& shape)
    : found_(new Found{Mask(mask, shape)}) {}

MaskSelection::~MaskSelection() = default;

int64_t MaskSelection::count() const { return found_->mask.count(); }

Buffer MaskSelection::positions() const {
    Buffer positions;
    positions.allocate(count() * static_cast<int64_t>(sizeof(int64_t)));
    auto* const to = static_cast<int64_t*>(positions.data());
    found_->mask.for_each_run(
        [&](const int64_t* found, int64_t number, int64_t count) { std::copy_n(found, count, to + number); });
    return positions;
}

void MaskSelection::store_coordinates(const Tensor& to, const std::vector<int64_t>& shape) const {
    const auto rank = static_cast<int64_t>(shape.size());
    const Output<Int64> coordinates(to);
    found_->mask.for_each_run([&](const int64_t* positions, int64_t number, int64_t count) {
        Int64* target = coordinates.data() + number * rank;
        if (rank == 2) {
            store_pairs(target, positions, count, shape[1]);
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            store_coordinates_of(target + i * rank, positions[i], shape);
        }
    });
    coordinates.store();
}

void MaskSelection::take(const Tensor& to, const Tensor& from) const {
    dispatch_word(from.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(from);
        const RawOutput target(to);
        const W* elements = source.as<W>();
        W* taken = target.as<W>();
        found_->mask.for_each_run([&](const int64_t* positions, int64_t number, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                taken[number + i] = elements[positions[i]];
            }
        });
        target.store();
    });
}

void MaskSelection::put(const Tensor& to, const Tensor& from) const {
    dispatch_word(to.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(from);
        const Changed changed(to, to.dtype);
        W* elements = changed.as<W>();
        const W* values = source.as<W>();
        found_->mask.for_each_run([&](const int64_t* positions, int64_t number, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                elements[positions[i]] = values[number + i];
            }
        });
        changed.store();
    });
}

}  // namespace diopigen::core
