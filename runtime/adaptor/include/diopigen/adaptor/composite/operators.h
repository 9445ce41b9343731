// Composite operators that are more than one expression per element. Each has the parameters of the public function.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_

#include <cstring>

#include "attention.h"
#include "cross_entropy.h"
#include "matrices.h"
#include "normalization.h"
#include "softmax.h"
#include "statistics.h"

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_
