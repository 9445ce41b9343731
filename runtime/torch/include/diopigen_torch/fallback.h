// What ran on the CPU, and how often.
#ifndef DIOPIGEN_TORCH_FALLBACK_H_
#define DIOPIGEN_TORCH_FALLBACK_H_

#include <cstdint>
#include <map>
#include <string>

namespace diopigen::backend {

/// Calls by overload: `unique_dim`, `sort.values_stable`.
std::map<std::string, int64_t> fallbackCounts();
void resetFallbackCounts();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_FALLBACK_H_
