// Blocks of device memory that the allocator keeps: by stream and size, those of captures, those still in use.
#ifndef DIOPIGEN_TORCH_BLOCKS_H_
#define DIOPIGEN_TORCH_BLOCKS_H_

#include <diopigen_torch/device.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace diopigen::backend {

constexpr size_t kGranularity = 512;

class Waiting;
struct Pool;

struct Block {
    void* data = nullptr;
    size_t bytes = 0;
    size_t requested = 0;
    c10::Stream stream;
    Waiting* waiting;       // those of the stream
    Block* next = nullptr;  // while it waits
    // Other streams that use the block.
    std::vector<c10::Stream> users;
};

// Blocks that wait for their next use on one stream, by size. Every tensor looks here when it is created and when it
// ends: lists through the blocks, and for small sizes an array of them.
class Waiting {
  public:
    Pool* pool = nullptr;  // of captures, if it belongs to one

    // The one that was put last, or null.
    Block* take(size_t bytes) {
        Block*& first = list_of(bytes);
        Block* const block = first;
        if (block != nullptr) {
            first = block->next;
        }
        return block;
    }

    void put(Block* block) {
        Block*& first = list_of(block->bytes);
        block->next = first;
        first = block;
    }

    bool is_empty() const {
        const auto is_null = [](const Block* first) { return first == nullptr; };
        return std::all_of(small_.begin(), small_.end(), is_null) &&
               std::all_of(large_.begin(), large_.end(), [&](const auto& list) { return is_null(list.second); });
    }

    // All of them, as one list.
    Block* take_all() {
        Block* all = nullptr;
        const auto move = [&all](Block*& first) {
            while (first != nullptr) {
                Block* const block = std::exchange(first, first->next);
                block->next = std::exchange(all, block);
            }
        };
        std::for_each(small_.begin(), small_.end(), move);
        for (auto& [bytes, first] : large_) {
            move(first);
        }
        large_.clear();
        return all;
    }

  private:
    static constexpr size_t kSmallSizes = 64;

    Block*& list_of(size_t bytes) {
        const size_t size = bytes / kGranularity;
        return size < kSmallSizes ? small_[size] : large_[bytes];
    }

    std::array<Block*, kSmallSizes> small_{};  // by multiples of kGranularity
    std::unordered_map<size_t, Block*> large_;
};

// Memory of captures, which no tensor gets outside of them while graphs use it.
struct Pool {
    size_t graphs = 0;
    std::unordered_map<c10::Stream, Waiting> waiting;
    std::vector<Block*> blocks;    // all
    std::vector<Block*> deferred;  // given back during a capture, with uses on other streams
};

// A block that was given back while other streams use it, and the ends of these uses.
struct Leaving {
    Block* block;
    std::vector<std::unique_ptr<Event>> ends;

    bool is_over() const {
        return std::all_of(ends.begin(), ends.end(), [](const std::unique_ptr<Event>& end) {
            try {
                return end->query();
            } catch (const std::exception&) {
                return true;  // as in ends_of_uses
            }
        });
    }
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_BLOCKS_H_
