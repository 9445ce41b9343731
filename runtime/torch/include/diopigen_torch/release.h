// The release of torch that is compiled against.
#ifndef DIOPIGEN_TORCH_RELEASE_H_
#define DIOPIGEN_TORCH_RELEASE_H_

#include <torch/headeronly/version.h>

/// True for the release major.minor or a later one; for #if.
#define DIOPIGEN_TORCH_SINCE(major, minor) \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#endif  // DIOPIGEN_TORCH_RELEASE_H_
