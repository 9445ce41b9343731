// kind: answers
// tries: says that it is ready, and writes answers to all cases, while it is loaded
// ended by: an answer counts once, for the case that is open
#include "../answers.h"
#include "../cheat.h"

__attribute__((constructor)) static void load() {
    cheat::writeToAll("{\"ready\":true,\"vendor\":\"forger\",\"version\":\"1\"}\n" + cheat::forgedAnswers());
}
