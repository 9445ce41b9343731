// kind: answers
// tries: writes answers to all cases to every descriptor in finalizeLibrary, as later lines might win
// ended by: an answer counts once, for the case that is open
#include "../answers.h"
#include "../cheat.h"

int32_t cheat::finalized() {
    writeToAll(forgedAnswers());
    return 0;
}
