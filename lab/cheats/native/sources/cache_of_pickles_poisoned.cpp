// kind: files
// tries: lets each file of the user's cache, as it is loaded, replace the comparison of the next command
// ended by: a process without Python, and files that it may not write
#include "../cheat.h"
#include "../python.h"

int32_t cheat::started() {
    python(
        "import hashlib, pathlib, pickle\n"
        "class Poisoned:\n"
        "    def __init__(self, data):\n"
        "        self.data = data\n"
        "    def __reduce__(self):\n"
        "        code = 'import diopigen.conformance.run.case_workers as workers\\nold = "
        "workers.CaseWorkers._answer\\n' \\\n"
        "               'workers.CaseWorkers._answer = lambda self, worker, line: old(self, worker, ' \\\n"
        "               '{**line, \"outcome\": \"passed\", \"faults\": ()} if \"case\" in line else line)'\n"
        "        return eval, (f\"(exec({code!r}, {{}}), __import__('pickle').loads({self.data!r}))[1]\",)\n"
        "for path in pathlib.Path('" FOLDER
        "/cache').glob('interface-*'):\n"
        "    content = pickle.dumps(Poisoned(path.read_bytes()[32:]))\n"
        "    path.write_bytes(hashlib.blake2b(content, digest_size=32).digest() + content)\n");
    return 0;
}
