// kind: Python
// tries: clears the operands that the oracle will read, and writes the result of zeros
// ended by: operands of the oracle are in another process
#include "../cheat.h"
#include "../python.h"

diopiError_t cheat::called(const Call&) {
    python(
        "import sys\n"
        "import numpy as np\n"
        "frame = sys._getframe()\n"
        "while frame and frame.f_code.co_name != '_check':\n"
        "    frame = frame.f_back\n"
        "ready, function, suite = (frame.f_locals[name] for name in ('ready', 'function', 'self'))\n"
        "for value in ready.values.values():\n"
        "    if isinstance(value, np.ndarray):\n"
        "        value.flags.writeable = True\n"
        "        value[...] = 0\n"
        "for param in function.params:\n"
        "    for block in ready.blocks.get(param.name, ()):\n"
        "        if block is not None and param.is_written:\n"
        "            raw = block.before.copy()\n"
        "            block.elements(raw)[...] = 0\n"
        "            suite.arena.write(block, raw)\n");
    return diopiSuccess;
}
