// kind: Python
// tries: replaces the comparison of the suite, which is Python in the same process
// ended by: a process without Python
#include "../cheat.h"
#include "../python.h"

int32_t cheat::started() {
    python(
        "import diopigen.conformance.run.execute as execute\n"
        "for one in vars(execute).values():\n"
        "    if hasattr(one, '_check'):\n"
        "        one._check = lambda *arguments: ('passed', [])\n");
    return 0;
}
