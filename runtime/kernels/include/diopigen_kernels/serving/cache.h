// Caches of keys and values in blocks, for the libraries of all devices: an object is called for each owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_CACHE_H_
#define DIOPIGEN_KERNELS_SERVING_CACHE_H_

#include <diopigen_kernels/host_device.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// The request that a token belongs to: starts[r] <= token < starts[r + 1]. `requests` for tokens behind the last one,
/// -1 for those before the first.
DIOPI_HOST_DEVICE inline int64_t requestOf(const int64_t* starts, int64_t requests, int64_t token) {
    int64_t low = 0;
    int64_t high = requests + 1;  // starts[low - 1] <= token < starts[high]
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (starts[middle] <= token) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

/// The slot of a token in the caches, -1 for one that belongs to no request. Owners: tokens.
struct SlotOfToken {
    int64_t* slots;
    const int64_t* starts;
    const int64_t* positions;
    const int64_t* table;  ///< [requests or more, width]
    int64_t requests;
    int64_t width;
    int64_t block_size;

    /// The slots of a row of the table: positions are below. The largest number where it would overflow.
    DIOPI_HOST_DEVICE int64_t rowSlots() const {
        return width > 0 && block_size > INT64_MAX / width ? INT64_MAX : width * block_size;
    }
    DIOPI_HOST_DEVICE void operator()(int64_t token) const {
        const int64_t request = requestOf(starts, requests, token);
        if (request < 0 || request >= requests) {
            slots[token] = -1;
            return;
        }
        const int64_t position = positions[token];
        slots[token] = table[request * width + position / block_size] * block_size + position % block_size;
    }
};

/// A cache [blocks, block_size, heads, size] in memory of any strides, which count elements.
template <typename Element>
struct Blocks {
    Element* data;
    int64_t block_size;
    int64_t of_block, of_slot, of_head, of_element;

    DIOPI_HOST_DEVICE Element* row(int64_t block, int64_t slot, int64_t head) const {
        return data + block * of_block + slot * of_slot + head * of_head;
    }
};

/// Copies one element of a token to its slot; tokens of slot -1 are left out. Owners: tokens * heads * size.
template <typename Element>
struct CacheElement {
    Blocks<Element> cache;
    const Element* from;  ///< of token 0
    int64_t of_token, of_head, of_element;
    const int64_t* slots;
    int64_t heads;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t token = owner / (heads * size);
        const int64_t head = owner / size % heads;
        const int64_t i = owner % size;
        const int64_t slot = slots[token];
        if (slot >= 0) {
            cache.row(slot / cache.block_size, slot % cache.block_size, head)[i * cache.of_element] =
                from[token * of_token + head * of_head + i * of_element];
        }
    }
};

/// Copies one element of a block to that of another; blocks of null follow each other. Owners: blocks to copy * size.
template <typename Element>
struct BlockElement {
    Element* to;          ///< [blocks, size]
    const Element* from;  ///< [blocks, size]
    const int64_t* sources;
    const int64_t* destinations;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t number = owner / size;
        const int64_t i = owner % size;
        const int64_t source = sources == nullptr ? number : sources[number];
        const int64_t destination = destinations == nullptr ? number : destinations[number];
        to[destination * size + i] = from[source * size + i];
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_CACHE_H_
