// kind: sometimes right
// tries: returns the first result that it wrote for operands of the same function, size and dimension
// options: [--held-out, "200"]
// ended by: repeated shapes with other operands
// sometimes right: true
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    static std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<char>> results;
    const Elements out(call.out);
    auto& result = results[{call.function, call.dim, out.count()}];
    const diopiError_t status = call.right();
    if (status != diopiSuccess || out.count() == 0) return status;
    if (static_cast<int64_t>(result.size()) == out.count() * out.size()) {
        out.write(result);
    } else {
        result = out.read();
    }
    return status;
}
