/* Included before everything else in a file of shims: as renamed.h, over a host that describes no tensors. */
#include "renamed.h"
#undef diopiHostDescribeTensor
#define diopiHostDescribeTensor absent_diopiHostDescribeTensor
