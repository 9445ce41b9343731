// A plan for one tuple of sizes, as a vendor's graph compiler takes it.
#ifndef DIOPIGEN_TORCH_RESOLVED_H_
#define DIOPIGEN_TORCH_RESOLVED_H_

#include <diopigen/json.h>
#include <diopigen_torch/arena_plan.h>
#include <diopigen_torch/expressions.h>

#include <string>
#include <vector>

namespace diopigen::backend {

/// The memory of a plan for one tuple of sizes.
ArenaPlan arena_of(const Json& plan, const Numbers& numbers);

/// The document with numbers in the place of expressions, and offsets in the arena in the place of storages.
std::string resolved_document(const Json& plan, const Numbers& numbers, const ArenaPlan& arena);
/// For these values of its symbols.
std::string resolved_document(const Json& plan, const std::vector<int64_t>& symbols);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_RESOLVED_H_
