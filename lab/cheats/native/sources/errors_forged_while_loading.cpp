// kind: answers
// tries: sends an error of a code that does not exist, with escape sequences, while it is loaded
// ended by: codes are those of the protocol; texts of the library are shown without control characters
#include "../answers.h"
#include "../cheat.h"

__attribute__((constructor)) static void load() {
    using namespace cheat;
    writeToAll(frame(Kind::error, field("\x1b[2Jno-code") + field("\x1b[2J\nforged: 999 passed\n")));
}
