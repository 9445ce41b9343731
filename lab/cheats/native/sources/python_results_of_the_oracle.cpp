// kind: Python
// tries: finds the caller's frame, asks the oracle, and writes its results
// ended by: a process without Python, and oracles in another one
#include "../cheat.h"
#include "../python.h"

diopiError_t cheat::called(const Call&) {
    python(
        "import sys\n"
        "from diopigen.conformance.oracles import Call, oracles\n"
        "frame = sys._getframe()\n"
        "while frame and frame.f_code.co_name != '_check':\n"
        "    frame = frame.f_back\n"
        "ready, function, suite = (frame.f_locals[name] for name in ('ready', 'function', 'self'))\n"
        "import diopigen.conformance.run.verdict as verdict\n"
        "call = Call(function, ready.values, ready.dtypes, ready.shapes)\n"
        "from diopigen.conformance.oracles import expected\n"
        "results = expected(call)\n"
        "for param in function.params:\n"
        "    for block in ready.blocks.get(param.name, ()):\n"
        "        if block is not None and param.is_written:\n"
        "            raw = block.before.copy()\n"
        "            block.elements(raw)[...] = results[param.name].values\n"
        "            suite.arena.write(block, raw)\n");
    return diopiSuccess;
}
