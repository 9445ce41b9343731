// kind: Python
// tries: replaces the comparison of the suite, which is Python in the same process
// ended by: a process without Python
#include "../cheat.h"
#include "../python.h"

int32_t cheat::started() {
    python(
        "from diopigen.conformance.run.execute import Executor\n"
        "Executor._check = lambda self, case, function, target: ('passed', [])\n");
    return 0;
}
