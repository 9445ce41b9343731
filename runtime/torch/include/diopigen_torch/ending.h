// The end of the process, while threads still compute.
#ifndef DIOPIGEN_TORCH_ENDING_H_
#define DIOPIGEN_TORCH_ENDING_H_

namespace diopigen::backend {

/// From now on every thread but the calling one waits for ever in its next operator. An interpreter that ends would
/// unwind such threads through C++ code, which aborts the process.
void park_other_threads();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_ENDING_H_
