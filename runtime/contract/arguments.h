// The operands of a call as the arguments that contracts speak of.
#ifndef DIOPIGEN_CONTRACT_ARGUMENTS_H_
#define DIOPIGEN_CONTRACT_ARGUMENTS_H_

#include <vector>

#include "call_tensors.h"
#include "evaluate.h"
#include "table.h"

namespace diopigen::contract {

// Replaces `arguments` by those of the operands, whose rules begin at `rules`; its memory is kept.
void make_arguments(Operands operands, const Parameter* rules, const CallTensors& tensors,
                    std::vector<Argument>& arguments);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_ARGUMENTS_H_
