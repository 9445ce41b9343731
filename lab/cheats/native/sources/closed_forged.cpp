// kind: answers
// tries: says that it was left without error, and crashes in finalizeLibrary
// ended by: an answer that was not asked for ends the process
#include <cstdlib>

#include "../answers.h"
#include "../cheat.h"

int32_t cheat::finalized() {
    writeToAll(frame(Kind::closed, field("")));
    std::abort();
}
