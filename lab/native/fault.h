// Faults: what is injected, into which functions, and the registry that each file of faults/ adds its own to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "call.h"
#include "signature.h"

namespace diopigen::mutant {

using Selector = std::function<bool(const Signature&)>;
using Behaviour = std::function<diopiError_t(Call&)>;

struct Fault {
    std::string name;
    std::string sentence;  // what the faulty library does
    Selector selector;     // the functions that it changes
    Behaviour behaviour;
};

// Adds the faults of one kind when the library is loaded.
class Registration {
  public:
    Registration(const char* kind, std::vector<Fault> faults);
};

// Counts that the chosen fault has changed something in a call of the function, with or without consequence.
void countAct(const Signature& signature, bool certain);

// What each wrapper calls: the chosen fault where it changes the function, else the real function.
diopiError_t conduct(const Signature& signature, diopiContextHandle_t context, void* const* arguments,
                     const Call::Forward& forward);

// The true function, or null where the library lacks it.
void* lookUp(const char* function);
template <typename Function>
Function trueFunction(const char* name) {
    return reinterpret_cast<Function>(lookUp(name));
}

// ---- which functions ------------------------------------------------------------------------------------------------

Selector every();
// Names without `diopi`, separated by blanks; `*` stands for any text.
Selector named(const char* globs);
Selector family(const char* names);
// Functions with a parameter of this name, or with any of several names separated by blanks.
Selector having(const char* names);
Selector havingType(Type type);
Selector operator&&(Selector one, Selector two);
Selector operator||(Selector one, Selector two);
Selector operator!(Selector one);
// Functions whose every output follows from the arguments: all but the random ones.
Selector determined();
// Functions that write at least this many tensors.
Selector writing(int tensors);

// ---- forms of behaviour ---------------------------------------------------------------------------------------------

// After a call that succeeds, each output is handed to `change`, which says whether it changed anything.
Behaviour afterwards(std::function<bool(const View&)> change);
// After a call that succeeds, `change` may look at the whole call.
Behaviour afterCall(std::function<bool(Call&)> change);
// Before the call, `change` exchanges arguments.
Behaviour beforehand(std::function<bool(Call&)> change);
// Each input is read through `change` of its numbers; the caller's memory stays as it is.
Behaviour readThrough(std::function<bool(const View&)> suits, std::function<double(double)> change);

}  // namespace diopigen::mutant
