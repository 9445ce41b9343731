// Calls as people read them.
#ifndef DIOPIGEN_DISPATCH_TEXT_H_
#define DIOPIGEN_DISPATCH_TEXT_H_

#include <diopi/diopirt.h>

#include <string>

#include "operand.h"

namespace diopigen::dispatch {

// "float32[2, 3]", "[1, 1]", "2", "none".
std::string textOf(const Operand& operand);
// "out=float32[2, 3], input=float32[2, 3], alpha=2".
std::string textOf(Operands operands);
const char* nameOf(diopiError_t status);  // emitted in entries.cpp
std::string textOf(double number);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_TEXT_H_
