// kind: answers
// tries: says that it was opened and has no function, while it is loaded
// ended by: an answer that was not asked for ends the process
#include "../answers.h"
#include "../cheat.h"

__attribute__((constructor)) static void load() {
    using namespace cheat;
    writeToAll(frame(Kind::opened, field("forger") + field("1") + std::string(1200, '\0')));
}
