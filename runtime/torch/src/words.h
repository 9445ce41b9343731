// Arguments of operators in words.
#ifndef DIOPIGEN_TORCH_WORDS_H_
#define DIOPIGEN_TORCH_WORDS_H_

#include <ATen/core/ivalue.h>

#include <string>

namespace diopigen::backend {

/// `tensor float32 [2, 3] stride [3, 1] numel 6 on droplet:0`, or the value of what is no tensor; with the elements of
/// tensors where `with_values`.
std::string describe(const c10::IValue& value, bool with_values);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_WORDS_H_
