// Offsets of temporary tensors of a compiled graph in its arena.
#ifndef DIOPIGEN_TORCH_ARENA_PLAN_H_
#define DIOPIGEN_TORCH_ARENA_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::backend {

/// Bytes: what every dtype and the vectors of most processors want.
constexpr int64_t kArenaAlignment = 64;

/// Memory of a graph: its bytes, and the steps that first and last use it.
struct Lifetime {
    int64_t bytes = 0;
    size_t first = 0;
    size_t last = 0;
};

struct ArenaPlan {
    int64_t bytes = 0;
    /// Of each lifetime, a multiple of the alignment.
    std::vector<int64_t> offsets;
};

/// The best result of three orders: largest first, first used first, and longest first. Each lifetime gets the smallest
/// gap among those in use at the same time that it fits.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_ARENA_PLAN_H_
