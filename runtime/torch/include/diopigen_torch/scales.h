// Images and volumes at another size: the interface knows sizes alone.
#ifndef DIOPIGEN_TORCH_SCALES_H_
#define DIOPIGEN_TORCH_SCALES_H_

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace diopigen::backend {

/// Falls back where a scale that the caller gives is not the ratio of the sizes. `input` are the sizes before, batch
/// and channels included; `output` those behind them after.
void require_own_scales(at::IntArrayRef input, at::IntArrayRef output,
                        std::initializer_list<std::optional<double>> scales);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_SCALES_H_
