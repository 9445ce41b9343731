// Calls as people read them.
#ifndef DIOPIGEN_CONTRACT_TEXT_H_
#define DIOPIGEN_CONTRACT_TEXT_H_

#include <diopi/diopirt.h>

#include <string>

#include "operand.h"

namespace diopigen::contract {

// "float32[2, 3]", "[1, 1]", "2", "none".
std::string text_of(const Operand& operand);
// "out=float32[2, 3], input=float32[2, 3], alpha=2".
std::string text_of(Operands operands);
std::string text_of(double number);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_TEXT_H_
