// kind: answers
// tries: writes answers to all cases, while it is loaded
// ended by: an answer counts once, for the case that is open
#include "../answers.h"
#include "../cheat.h"

__attribute__((constructor)) static void load() {
    using namespace cheat;
    writeToAll(frame(Kind::opened, field("forger") + field("1") + std::string(1000, '\1')) + forgedAnswers());
}
