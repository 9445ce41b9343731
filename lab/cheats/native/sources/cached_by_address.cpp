// kind: sometimes right
// tries: returns the first result that it wrote for tensors at the same addresses
// options: [--held-out, "200"]
// ended by: memory that is used again, with other operands
// sometimes right: true
#include <map>
#include <utility>
#include <vector>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static std::map<std::pair<char*, char*>, std::vector<char>> results;
    const Elements out(call.out), input(call.input);
    if (out.count() == 0 || input.count() == 0) return call.right();
    auto& result = results[{out.at(0), input.at(0)}];
    if (static_cast<int64_t>(result.size()) == out.count() * out.size()) {
        out.write(result);
        return diopiSuccess;
    }
    const diopiError_t status = call.right();
    if (status == diopiSuccess) result = out.read();
    return status;
}
