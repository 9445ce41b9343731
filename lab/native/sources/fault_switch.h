// Included ahead of every source that holds injected faults: which one acts, and which places have been evaluated.
#ifndef DIOPI_FAULT_SWITCH_H_
#define DIOPI_FAULT_SWITCH_H_

namespace diopi_fault {

// What is shared with the process that injects faults: the number of the one that acts, and a byte for each, which
// becomes 1 once its index is evaluated.
struct Shared {
    volatile int active;
    volatile unsigned char reached[1];
};
extern Shared* shared;

__attribute__((visibility("hidden"))) inline bool on(int fault) {
    shared->reached[fault] = 1;
    return __builtin_expect(shared->active == fault, 0) != 0;
}

}  // namespace diopi_fault

#endif  // DIOPI_FAULT_SWITCH_H_
