// Numbers of expressions: integers that stay exact, and reals. Functions return false where there is no result.
#ifndef DIOPIGEN_CONTRACT_NUMBER_H_
#define DIOPIGEN_CONTRACT_NUMBER_H_

#include "table.h"
#include "value.h"

namespace diopigen::contract {

bool add(const Number& a, const Number& b, Number& result);
bool multiply(const Number& a, const Number& b, Number& result);
bool negate(const Number& a, Number& result);
// Rounded down, and the remainder with the sign of the divisor.
bool divide_down(const Number& a, const Number& b, Number& quotient, Number& remainder);
bool arithmetic(Op op, const Number& a, const Number& b, Number& result);

// -1, 0, 1; 2 where a NaN is among them.
int compare(const Number& a, const Number& b);
bool is_comparison(Op op);
bool is_satisfied(Op op, int order);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_NUMBER_H_
