// One call of an operator: what the emitted functions build on.
#ifndef DIOPIGEN_DISPATCH_RUN_H_
#define DIOPIGEN_DISPATCH_RUN_H_

#include <diopi/diopirt.h>
#include <diopigen/left_call.h>

#include "entry.h"
#include "error_text.h"
#include "libraries.h"
#include "operands.h"

namespace diopigen::dispatch {

// Calls a function that has the type of the operator `alike`.
template <typename Target, typename... Arguments>
inline diopiError_t invoke(Function function, Target /*alike*/, Arguments... arguments) {
    return reinterpret_cast<Target>(function)(arguments...);
}

// A reference to something that calls a function with the arguments of the call, as they are then.
class Caller {
  public:
    template <typename Callable>
    explicit Caller(const Callable& callable)
        : object_(&callable), call_([](const void* object, Function function) {
              return (*static_cast<const Callable*>(object))(function);
          }) {}
    diopiError_t operator()(Function function) const { return call_(object_, function); }

  private:
    const void* object_;
    diopiError_t (*call_)(const void*, Function);
};

// Tries the short way, straight to the vendor's function. False where there is more to a call of this operator, or
// where the vendor leaves it to others: `status` is what it returned then, and diopiSuccess where it was not called.
template <typename Callable>
inline bool is_served(Entry& entry, const Callable& call, diopiError_t& status) {
    const Function direct = entry.direct.load(std::memory_order_acquire);
    if (__builtin_expect(direct == nullptr, 0)) {
        return false;
    }
    status = call(direct);
    if (__builtin_expect(status == diopiSuccess, 1)) {
        return true;
    }
    if (is_left(status)) {
        return false;
    }
    use_vendor_error_text();
    return true;
}

// Calls the vendor's function of this name, which has the type of `alike`: what no other library can do in its place.
template <typename Target, typename... Arguments>
diopiError_t forward(const char* name, Target /*alike*/, Arguments... arguments) {
    libraries();  // loaded at the first call
    void* const found = vendor_symbol(name);
    if (found == nullptr) {
        set_error_text(name, "the vendor's library does not have it");
        return diopiNoImplement;
    }
    use_vendor_error_text();
    return reinterpret_cast<Target>(found)(arguments...);
}

// The long way: loads the libraries, falls back, and does what the switches say. `status` is that of is_served().
diopiError_t run(Entry& entry, diopiContextHandle_t ctx, Operands operands, Caller call, diopiError_t status);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_RUN_H_
