#include "indexing/chosen.h"
#include "mask.h"

namespace diopi::core {

using namespace cpu;

namespace {

// The coordinates of an element.
void store_coordinates_of(Int64* to, int64_t place, const std::vector<int64_t>& shape) {
    for (size_t d = shape.size(); d-- > 0;) {
        to[d] = Int64(place % shape[d]);
        place /= shape[d];
    }
}

// The same in two dimensions for places in rising order, almost without divisions.
void store_pairs(Int64* to, const int64_t* places, int64_t count, int64_t width) {
    int64_t row = places[0] / width;
    int64_t first = row * width;
    for (int64_t i = 0; i < count; ++i) {
        if (places[i] - first >= width) {
            row = places[i] / width;
            first = row * width;
        }
        to[2 * i] = Int64(row);
        to[2 * i + 1] = Int64(places[i] - first);
    }
}

}  // namespace

struct Chosen::Found {
    Mask mask;
};

Chosen::Chosen(const Tensor& mask, const std::vector<int64_t>& shape) : found_(new Found{Mask(mask, shape)}) {}

Chosen::~Chosen() = default;

int64_t Chosen::count() const { return found_->mask.count(); }

Buffer Chosen::places() const {
    Buffer places;
    places.allocate(count() * static_cast<int64_t>(sizeof(int64_t)));
    auto* const to = static_cast<int64_t*>(places.data());
    found_->mask.for_each_run(
        [&](const int64_t* found, int64_t number, int64_t count) { std::copy_n(found, count, to + number); });
    return places;
}

void Chosen::store_coordinates(const Tensor& to, const std::vector<int64_t>& shape) const {
    const auto rank = static_cast<int64_t>(shape.size());
    const Output<Int64> coordinates(to);
    found_->mask.for_each_run([&](const int64_t* places, int64_t number, int64_t count) {
        Int64* target = coordinates.data() + number * rank;
        if (rank == 2) {
            store_pairs(target, places, count, shape[1]);
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            store_coordinates_of(target + i * rank, places[i], shape);
        }
    });
    coordinates.store();
}

void Chosen::take(const Tensor& to, const Tensor& from) const {
    dispatch_word(from.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(from);
        const NewWords target(to);
        const W* elements = source.as<W>();
        W* taken = target.as<W>();
        found_->mask.for_each_run([&](const int64_t* places, int64_t number, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                taken[number + i] = elements[places[i]];
            }
        });
        target.store();
    });
}

void Chosen::put(const Tensor& to, const Tensor& from) const {
    dispatch_word(to.dtype, [&](auto sample) {
        using W = decltype(sample);
        const Words source(from);
        const Changed changed(to, to.dtype);
        W* elements = changed.as<W>();
        const W* values = source.as<W>();
        found_->mask.for_each_run([&](const int64_t* places, int64_t number, int64_t count) {
            for (int64_t i = 0; i < count; ++i) {
                elements[places[i]] = values[number + i];
            }
        });
        changed.store();
    });
}

}  // namespace diopi::core
