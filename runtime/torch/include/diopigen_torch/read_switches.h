// The switches (switches.h) as the environment has them.
#ifndef DIOPIGEN_TORCH_READ_SWITCHES_H_
#define DIOPIGEN_TORCH_READ_SWITCHES_H_

namespace diopigen::backend {

/// Sets them; until then all are off. Throws c10::ValueError, which nothing could catch while the library is loaded.
void read_switches();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_READ_SWITCHES_H_
