#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "dtypes.h"
#include "shapes.h"

namespace diopigen::contract {

namespace {

using Type = Value::Type;

// ---- Numbers ----

bool add(const Number& a, const Number& b, Number& result) {
    if (a.isReal || b.isReal) {
        result = Number::of(a.asReal() + b.asReal());
        return true;
    }
    result = Number::of(int64_t{0});
    return !__builtin_add_overflow(a.integer, b.integer, &result.integer);
}

bool multiply(const Number& a, const Number& b, Number& result) {
    if (a.isReal || b.isReal) {
        result = Number::of(a.asReal() * b.asReal());
        return true;
    }
    result = Number::of(int64_t{0});
    return !__builtin_mul_overflow(a.integer, b.integer, &result.integer);
}

bool negate(const Number& a, Number& result) {
    if (a.isReal) {
        result = Number::of(-a.real);
        return true;
    }
    result = Number::of(int64_t{0});
    return !__builtin_sub_overflow(int64_t{0}, a.integer, &result.integer);
}

// Rounded down, and the remainder with the sign of the divisor.
bool divideDown(const Number& a, const Number& b, Number& quotient, Number& remainder) {
    if (a.isReal || b.isReal) {
        const double down = std::floor(a.asReal() / b.asReal());
        quotient = Number::of(down);
        remainder = Number::of(a.asReal() - down * b.asReal());
        return b.asReal() != 0;
    }
    if (b.integer == 0 || (a.integer == std::numeric_limits<int64_t>::min() && b.integer == -1)) {
        return false;
    }
    int64_t down = a.integer / b.integer;
    int64_t rest = a.integer % b.integer;
    if (rest != 0 && (rest < 0) != (b.integer < 0)) {
        --down;
        rest += b.integer;
    }
    quotient = Number::of(down);
    remainder = Number::of(rest);
    return true;
}

bool arithmetic(Op op, const Number& a, const Number& b, Number& result) {
    Number other;
    switch (op) {
        case Op::kAdd:
            return add(a, b, result);
        case Op::kSubtract:
            return negate(b, other) && add(a, other, result);
        case Op::kMultiply:
            return multiply(a, b, result);
        case Op::kDivide:
            result = Number::of(a.asReal() / b.asReal());
            return b.asReal() != 0;
        case Op::kFloorDivide:
            return divideDown(a, b, result, other);
        case Op::kRemainder:
            return divideDown(a, b, other, result);
        default: {
            const double power = std::pow(a.asReal(), b.asReal());
            const bool isExact = !a.isReal && !b.isReal && b.integer >= 0 && std::fabs(power) < 0x1p53;
            result = isExact ? Number::of(static_cast<int64_t>(power)) : Number::of(power);
            return true;
        }
    }
}

// -1, 0, 1; 2 where a NaN is among them.
int compare(const Number& a, const Number& b) {
    if (!a.isReal && !b.isReal) {
        return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
    }
    const double left = a.asReal();
    const double right = b.asReal();
    if (std::isnan(left) || std::isnan(right)) {
        return 2;
    }
    return left < right ? -1 : (left > right ? 1 : 0);
}

bool isSatisfied(Op op, int order) {
    switch (op) {
        case Op::kEqual:
            return order == 0;
        case Op::kNotEqual:
            return order != 0;
        case Op::kLess:
            return order == -1;
        case Op::kLessEqual:
            return order == -1 || order == 0;
        case Op::kGreater:
            return order == 1;
        default:
            return order == 1 || order == 0;
    }
}

bool isComparison(Op op) { return op >= Op::kEqual && op <= Op::kGreaterEqual; }

bool isMany(const Value& value) { return value.type == Type::kList || value.type == Type::kBools; }

// ---- The evaluator ----

class Evaluator {
  public:
    explicit Evaluator(const Arguments& arguments) : arguments_(arguments) {}

    bool value(int32_t index, Value& result) const;

    // A value to compute with: a scalar without its dtype, a tensor by its elements.
    bool plain(int32_t index, Value& result) const {
        if (!value(index, result)) {
            return false;
        }
        if (result.type == Type::kScalar) {
            result.type = Type::kNumber;
        } else if (result.type == Type::kTensor) {
            const TensorView* const tensor = result.tensor;
            result = Value();
            result.type = Type::kList;
            return arguments_.elements && arguments_.elements(*tensor, result.list);
        }
        return true;
    }
    bool number(int32_t index, Number& result) const {
        Value found;
        if (!plain(index, found)) {
            return false;
        }
        if (found.type == Type::kBool) {
            result = Number::of(int64_t{found.truth});
            return true;
        }
        result = found.number;
        return found.type == Type::kNumber;
    }
    bool integer(int32_t index, int64_t& result) const {
        Number found;
        if (!number(index, found) || found.isReal) {
            return false;
        }
        result = found.integer;
        return true;
    }
    bool truth(int32_t index, bool& result) const {
        Value found;
        if (!plain(index, found)) {
            return false;
        }
        result = found.type == Type::kNumber ? found.number.asReal() != 0 : found.truth;
        return found.type == Type::kBool || found.type == Type::kNumber;
    }
    bool dtype(int32_t index, diopiDtype_t& result) const;
    // The entries of a list; where a shape is wanted a tensor stands for its own.
    bool entries(int32_t index, std::vector<Number>& result) const;
    bool sizes(int32_t index, Sizes& result) const;
    bool tensor(int32_t index, TensorView& result) const {
        Value found;
        if (!value(index, found) || found.type != Type::kTensor) {
            return false;
        }
        result = *found.tensor;
        return true;
    }
    bool tensors(int32_t index, TensorArray& result) const {
        Value found;
        if (!value(index, found)) {
            return false;
        }
        result = found.type == Type::kTensor ? TensorArray{found.tensor, 1, nullptr} : found.tensors;
        return found.type == Type::kTensor || found.type == Type::kTensors;
    }

  private:
    bool parameter(int64_t position, Value& result) const;
    bool binary(const Node& node, Value& result) const;
    bool logical(const Node& node, Value& result) const;
    bool call(const Node& node, Value& result) const;
    bool special(const Node& node, Value& result) const;
    bool ofTensors(const Node& node, Value& result) const;
    bool ofArrays(const Node& node, Value& result) const;
    bool ofIndices(const Node& node, Value& result) const;
    bool ofLists(const Node& node, Value& result) const;
    bool ofNumbers(const Node& node, Value& result) const;
    bool ofDtypes(const Node& node, Value& result) const;
    bool ofShapes(const Node& node, Sizes& result) const;
    bool promoted(const Node& node, diopiDtype_t& result) const;
    bool broadcastOf(const Node& node, Sizes& result) const;

    static int32_t child(const Node& node, int position) { return children[node.first + position]; }

    bool byEntry(const Node& node, unsigned positions, Value& result, bool& isDone) const;

    const Arguments& arguments_;
    // Arguments that stand for one entry of their list, while a function is evaluated entry by entry.
    mutable std::vector<std::pair<int32_t, Number>> fixed_;
};

bool Evaluator::parameter(int64_t position, Value& result) const {
    const Argument& argument = arguments_.values[static_cast<size_t>(position)];
    if (argument.isNull || argument.isRoom || !(argument.isTensor || argument.value)) {
        return false;
    }
    if (argument.isArray) {
        result = Value();
        result.type = Type::kTensors;
        result.tensors = {argument.tensors.data(), static_cast<int64_t>(argument.tensors.size()), &argument.members};
    } else if (argument.isTensor) {
        result = Value();
        result.type = Type::kTensor;
        result.tensor = &argument.tensor;
    } else {
        result = *argument.value;
    }
    return true;
}

bool Evaluator::value(int32_t index, Value& result) const {
    const Node& node = nodes[index];
    for (const auto& [fixed, entry] : fixed_) {
        if (fixed == index) {
            result = Value();
            result.type = Type::kNumber;
            result.number = entry;
            return true;
        }
    }
    switch (node.op) {
        case Op::kInteger:
            result = Value::of(node.integer);
            return true;
        case Op::kReal:
            result = Value::of(node.real);
            return true;
        case Op::kText:
            result = Value();
            result.type = Type::kText;
            result.text = node.text;
            return true;
        case Op::kTrue:
        case Op::kFalse:
            result = Value::of(node.op == Op::kTrue);
            return true;
        case Op::kParameter:
            return parameter(node.integer, result);
        case Op::kDimension: {
            const auto position = static_cast<size_t>(node.integer);
            result = Value::of(arguments_.dimensions[position]);
            return arguments_.isBound[position];
        }
        case Op::kNot: {
            if (!plain(child(node, 0), result)) {
                return false;
            }
            result.truth = !result.truth;
            for (Number& entry : result.list) {
                entry = Number::of(int64_t{entry.integer == 0});
            }
            return true;
        }
        case Op::kNegate: {
            if (!plain(child(node, 0), result)) {
                return false;
            }
            for (Number& entry : result.list) {
                if (!negate(Number(entry), entry)) {
                    return false;
                }
            }
            return negate(Number(result.number), result.number);
        }
        case Op::kAnd:
        case Op::kOr:
            return logical(node, result);
        case Op::kCall:
            return call(node, result);
        default:
            return binary(node, result);
    }
}

// The entries of both sides as lists of one length; a number belongs to every entry.
bool aligned(Value& left, Value& right) {
    const auto spread = [](Value& one) {
        if (one.type == Type::kNumber) {
            one.list = {one.number};
        } else if (one.type == Type::kBool) {
            one.list = {Number::of(int64_t{one.truth})};
        }
    };
    spread(left);
    spread(right);
    const size_t count = left.list.empty() || right.list.empty() ? 0 : std::max(left.list.size(), right.list.size());
    for (Value* one : {&left, &right}) {
        if (one->list.size() == 1) {
            one->list.assign(count, one->list[0]);
        }
        if (one->list.size() != count) {
            return false;
        }
    }
    return true;
}

bool Evaluator::logical(const Node& node, Value& result) const {
    Value left;
    if (!plain(child(node, 0), left)) {
        return false;
    }
    if (!isMany(left)) {
        if (left.truth == (node.op == Op::kOr)) {
            result = left;
            return true;
        }
        return plain(child(node, 1), result);
    }
    Value right;
    if (!plain(child(node, 1), right) || !aligned(left, right)) {
        return false;
    }
    result = Value();
    result.type = Type::kBools;
    for (size_t i = 0; i < left.list.size(); ++i) {
        const bool one = left.list[i].integer != 0;
        const bool other = right.list[i].integer != 0;
        result.list.push_back(Number::of(int64_t{node.op == Op::kAnd ? one && other : one || other}));
    }
    return true;
}

bool Evaluator::binary(const Node& node, Value& result) const {
    Value left;
    Value right;
    if (!plain(child(node, 0), left) || !plain(child(node, 1), right)) {
        return false;
    }
    const bool compares = isComparison(node.op);
    if (isMany(left) || isMany(right)) {
        if (!aligned(left, right)) {
            return false;
        }
        Value found;
        found.type = compares ? Type::kBools : Type::kList;
        for (size_t i = 0; i < left.list.size(); ++i) {
            Number entry;
            if (compares) {
                entry = Number::of(int64_t{isSatisfied(node.op, compare(left.list[i], right.list[i]))});
            } else if (!arithmetic(node.op, left.list[i], right.list[i], entry)) {
                return false;
            }
            found.list.push_back(entry);
        }
        result = std::move(found);
        return true;
    }
    const auto text = [](const Value& one) { return one.type == Type::kDtype ? nameOf(one.dtype) : one.text; };
    const auto isWord = [](const Value& one) { return one.type == Type::kDtype || one.type == Type::kText; };
    if (isWord(left) && isWord(right)) {
        const bool isSame = std::strcmp(text(left), text(right)) == 0;
        result = Value::of(isSame == (node.op == Op::kEqual));
        return true;
    }
    const auto asNumber = [](const Value& one) {
        return one.type == Type::kBool ? Number::of(int64_t{one.truth}) : one.number;
    };
    if (compares) {
        result = Value::of(isSatisfied(node.op, compare(asNumber(left), asNumber(right))));
        return true;
    }
    Number found;
    if (!arithmetic(node.op, asNumber(left), asNumber(right), found)) {
        return false;
    }
    result = Value();
    result.type = Type::kNumber;
    result.number = found;
    return true;
}

bool Evaluator::dtype(int32_t index, diopiDtype_t& result) const {
    if (nodes[index].op == Op::kParameter) {
        const Argument& argument = arguments_.values[static_cast<size_t>(nodes[index].integer)];
        if (argument.isTensor && !argument.isArray && !argument.isNull) {
            result = argument.tensor.dtype;
            return true;
        }
    }
    Value found;
    if (!value(index, found)) {
        return false;
    }
    switch (found.type) {
        case Type::kTensor:
            result = found.tensor->dtype;
            return true;
        case Type::kTensors:
            if (found.tensors.count == 0) {
                return false;
            }
            result = found.tensors.first[0].dtype;
            return true;
        case Type::kScalar:
        case Type::kDtype:
            result = found.dtype;
            return true;
        default:
            return false;
    }
}

bool Evaluator::entries(int32_t index, std::vector<Number>& result) const {
    Value found;
    if (!value(index, found)) {
        return false;
    }
    result.clear();
    if (found.type == Type::kTensor) {
        for (int64_t i = 0; i < found.tensor->shape.len; ++i) {
            result.push_back(Number::of(found.tensor->shape.data[i]));
        }
    } else if (isMany(found)) {
        result = std::move(found.list);
    } else if (found.type == Type::kBool) {
        result = {Number::of(int64_t{found.truth})};
    } else {
        result = {found.number};
    }
    return true;
}

bool Evaluator::sizes(int32_t index, Sizes& result) const {
    std::vector<Number> found;
    if (!entries(index, found)) {
        return false;
    }
    result.clear();
    for (const Number& entry : found) {
        if (entry.isReal) {
            return false;
        }
        result.push_back(entry.integer);
    }
    return true;
}

// The positions of numbers, as bits, of the functions that have one result for each entry where a list is given.
unsigned numbersOf(Fn function) {
    switch (function) {
        case Fn::size:
        case Fn::axis:
        case Fn::item:
        case Fn::can_hold:
            return 2;
        case Fn::ceil_div:
        case Fn::divides:
            return 3;
        default:
            return 0;
    }
}

bool Evaluator::byEntry(const Node& node, unsigned positions, Value& result, bool& isDone) const {
    std::vector<std::pair<int32_t, std::vector<Number>>> lists;
    size_t count = 1;
    for (int i = 0; i < node.count; ++i) {
        Value found;
        if ((positions >> i & 1U) == 0) {
            continue;
        }
        if (!plain(child(node, i), found)) {
            return false;
        }
        if (isMany(found)) {
            count = found.list.empty() || count == 0 ? 0 : std::max(count, found.list.size());
            lists.emplace_back(child(node, i), std::move(found.list));
        }
    }
    isDone = !lists.empty();
    if (!isDone) {
        return true;
    }
    Value all;
    all.type = Type::kList;
    for (size_t k = 0; k < count; ++k) {
        const auto before = fixed_;
        for (const auto& [index, list] : lists) {
            if (list.size() != count && list.size() != 1) {
                return false;
            }
            fixed_.emplace_back(index, list[list.size() == 1 ? 0 : k]);
        }
        Value one;
        const bool isKnown = call(node, one);
        fixed_ = before;
        if (!isKnown) {
            return false;
        }
        const bool isBool = one.type == Type::kBool;
        all.type = isBool ? Type::kBools : Type::kList;
        all.list.push_back(isBool ? Number::of(int64_t{one.truth}) : one.number);
    }
    result = std::move(all);
    return true;
}

bool Evaluator::call(const Node& node, Value& result) const {
    if (node.function == Fn::unknown) {
        return false;
    }
    if (const unsigned positions = numbersOf(node.function)) {
        bool isDone = false;
        if (!byEntry(node, positions, result, isDone)) {
            return false;
        }
        if (isDone) {
            return true;
        }
    }
    if (node.function <= Fn::is_null) {
        return special(node, result);
    }
    if (node.function <= Fn::elements) {
        return ofTensors(node, result);
    }
    if (node.function <= Fn::count) {
        return ofLists(node, result);
    }
    if (node.function <= Fn::is_finite) {
        return ofNumbers(node, result);
    }
    if (node.function <= Fn::to_complex) {
        return ofDtypes(node, result);
    }
    Sizes found;
    if (!ofShapes(node, found)) {
        return false;
    }
    result = Value::of(found);
    return true;
}

bool isSame(const Value& one, const Value& other) {
    if (one.type == Type::kText && other.type == Type::kText) {
        return std::strcmp(one.text, other.text) == 0;
    }
    return compare(one.number, other.number) == 0;
}

bool Evaluator::special(const Node& node, Value& result) const {
    bool condition = false;
    switch (node.function) {
        case Fn::is_null: {
            const Node& operand = nodes[child(node, 0)];
            result = Value::of(arguments_.values[static_cast<size_t>(operand.integer)].isNull);
            return true;
        }
        case Fn::implies:
            if (!truth(child(node, 0), condition)) {
                return false;
            }
            if (!condition) {
                result = Value::of(true);
                return true;
            }
            return plain(child(node, 1), result);
        case Fn::where:
            return truth(child(node, 0), condition) && value(child(node, condition ? 1 : 2), result);
        default:
            break;
    }
    Value first;
    if (!plain(child(node, 0), first)) {
        return false;
    }
    std::vector<Value> others(node.count - 1U);
    for (int i = 1; i < node.count; ++i) {
        if (!plain(child(node, i), others[static_cast<size_t>(i) - 1])) {
            return false;
        }
    }
    const auto isAmong = [&](const Value& one) {
        return std::any_of(others.begin(), others.end(), [&](const Value& other) { return isSame(one, other); });
    };
    if (!isMany(first)) {
        result = Value::of(isAmong(first));
        return true;
    }
    result = Value();
    result.type = Type::kBools;
    for (const Number& entry : first.list) {
        Value one;
        one.type = Type::kNumber;
        one.number = entry;
        result.list.push_back(Number::of(int64_t{isAmong(one)}));
    }
    return true;
}

int64_t numelOf(const TensorView& tensor) {
    int64_t product = 1;
    for (int64_t i = 0; i < tensor.shape.len; ++i) {
        product *= tensor.shape.data[i];
    }
    return product;
}

bool Evaluator::ofTensors(const Node& node, Value& result) const {
    if (node.function == Fn::broadcasts || node.function == Fn::broadcasts_to) {
        Sizes joined;
        Sizes last;
        bool isPossible = true;
        for (int i = 0; i < node.count; ++i) {
            if (!sizes(child(node, i), last)) {
                return false;
            }
            isPossible = isPossible && broadcast(Sizes(joined), last, joined);
        }
        result = Value::of(isPossible && (node.function == Fn::broadcasts || joined == last));
        return true;
    }
    if (node.function == Fn::axis) {
        Sizes shape;
        int64_t dim = 0;
        int64_t axis = 0;
        if (!sizes(child(node, 0), shape) || !integer(child(node, 1), dim) ||
            !axisOf(dim, static_cast<int64_t>(shape.size()), axis)) {
            return false;
        }
        result = Value::of(axis);
        return true;
    }
    if (node.function == Fn::indexed_dims || node.function == Fn::masks_fit) {
        return ofIndices(node, result);
    }
    if (node.function >= Fn::have_shape && node.function <= Fn::sizes_in) {
        return ofArrays(node, result);
    }
    if (node.function >= Fn::ranks && node.function <= Fn::same_shape) {
        TensorArray array;
        if (!tensors(child(node, 0), array)) {
            return false;
        }
        bool isAlike = true;
        Sizes found;
        for (int64_t i = 0; i < array.count; ++i) {
            const TensorView& one = array.first[i];
            found.push_back(node.function == Fn::ranks        ? one.shape.len
                            : node.function == Fn::categories ? category(one.dtype)
                                                              : numelOf(one));
            isAlike = isAlike && (node.function == Fn::same_dtype ? one.dtype == array.first[0].dtype
                                                                  : one.sizes() == array.first[0].sizes());
        }
        result = node.function <= Fn::categories ? Value::of(found) : Value::of(isAlike);
        return true;
    }
    TensorView found;
    if (!tensor(child(node, 0), found)) {
        return false;
    }
    switch (node.function) {
        case Fn::rank:
            result = Value::of(found.shape.len);
            return true;
        case Fn::numel:
            result = Value::of(numelOf(found));
            return true;
        case Fn::sizes:
            result = Value::of(found.sizes());
            return true;
        case Fn::size: {
            int64_t dim = 0;
            int64_t axis = 0;
            if (!integer(child(node, 1), dim) || !axisOf(dim, found.shape.len, axis)) {
                return false;
            }
            result = Value::of(found.shape.len == 0 ? int64_t{1} : found.shape.data[axis]);
            return true;
        }
        default:
            return plain(child(node, 0), result);
    }
}

// Shapes of the members of an array.
bool Evaluator::ofArrays(const Node& node, Value& result) const {
    TensorArray array;
    if (!tensors(child(node, 0), array)) {
        return false;
    }
    int64_t dim = 0;
    if (node.function == Fn::sizes_in) {
        Sizes found;
        if (!integer(child(node, 1), dim)) {
            return false;
        }
        for (int64_t i = 0; i < array.count; ++i) {
            const diopiSize_t& shape = array.first[i].shape;
            int64_t axis = 0;
            if (!axisOf(dim, shape.len, axis)) {
                return false;
            }
            found.push_back(shape.len == 0 ? 1 : shape.data[axis]);
        }
        result = Value::of(found);
        return true;
    }
    Sizes expected;
    if (!sizes(child(node, 1), expected)) {
        return false;
    }
    const size_t rank = expected.size();
    if (node.function == Fn::same_but &&
        (!integer(child(node, 2), dim) || !contract::without(Sizes(expected), dim, expected))) {
        return false;
    }
    bool isAlike = true;
    for (int64_t i = 0; i < array.count; ++i) {
        Sizes shape = array.first[i].sizes();
        const bool hasRank = shape.size() == rank;
        if (node.function == Fn::same_but && hasRank) {
            contract::without(Sizes(shape), dim, shape);
        }
        isAlike = isAlike && hasRank && shape == expected;
    }
    result = Value::of(isAlike);
    return true;
}

// Index tensors: a mask stands for as many dimensions as it has, anything else for one.
bool Evaluator::ofIndices(const Node& node, Value& result) const {
    const bool ofMasks = node.function == Fn::masks_fit;
    Sizes shape;
    Value found;
    if ((ofMasks && !sizes(child(node, 0), shape)) || !value(child(node, ofMasks ? 1 : 0), found) ||
        found.type != Type::kTensors || found.tensors.members == nullptr) {
        return false;
    }
    int64_t dims = 0;
    bool fits = true;
    for (const TensorView& index : *found.tensors.members) {
        const bool isMask = index.dtype == diopi_dtype_bool || index.dtype == diopi_dtype_uint8;
        const int64_t covers = !index.isNull() && isMask ? index.shape.len : 1;
        for (int64_t i = 0; ofMasks && isMask && !index.isNull() && i < covers; ++i) {
            const auto at = static_cast<size_t>(dims + i);
            if (at >= shape.size()) {
                return false;
            }
            fits = fits && shape[at] == index.shape.data[i];
        }
        dims += covers;
    }
    result = ofMasks ? Value::of(fits) : Value::of(dims);
    return true;
}

bool Evaluator::ofLists(const Node& node, Value& result) const {
    std::vector<Number> list;
    if (node.function == Fn::list) {
        for (int i = 0; i < node.count; ++i) {
            Number entry;
            if (!number(child(node, i), entry)) {
                return false;
            }
            list.push_back(entry);
        }
        result = Value();
        result.type = Type::kList;
        result.list = std::move(list);
        return true;
    }
    Value first;
    if (!value(child(node, 0), first)) {
        return false;
    }
    if (node.function == Fn::len && first.type == Type::kTensors) {
        result = Value::of(first.tensors.count);
        return true;
    }
    const bool ofTruths = node.function >= Fn::all && node.function <= Fn::count;
    if (ofTruths) {
        if (!plain(child(node, 0), first)) {
            return false;
        }
        list = isMany(first) ? first.list : std::vector<Number>{Number::of(int64_t{first.truth})};
    } else if (!entries(child(node, 0), list)) {
        return false;
    }
    const auto isTrue = [](const Number& entry) { return entry.asReal() != 0; };
    const auto less = [](const Number& a, const Number& b) { return compare(a, b) == -1; };
    const auto size = static_cast<int64_t>(list.size());
    int64_t count = 0;
    std::vector<Number> other;
    switch (node.function) {
        case Fn::all:
            result = Value::of(std::all_of(list.begin(), list.end(), isTrue));
            return true;
        case Fn::any:
            result = Value::of(std::any_of(list.begin(), list.end(), isTrue));
            return true;
        case Fn::count:
            result = Value::of(static_cast<int64_t>(std::count_if(list.begin(), list.end(), isTrue)));
            return true;
        case Fn::len:
            result = Value::of(size);
            return true;
        case Fn::nondecreasing:
            result = Value::of(std::is_sorted(list.begin(), list.end(), less));
            return true;
        case Fn::distinct:
        case Fn::is_permutation: {
            std::sort(list.begin(), list.end(), less);
            bool isGood = true;
            for (int64_t i = 0; i < size; ++i) {
                const Number& entry = list[static_cast<size_t>(i)];
                isGood = isGood && (node.function == Fn::distinct
                                        ? i == 0 || compare(entry, list[static_cast<size_t>(i) - 1]) != 0
                                        : compare(entry, Number::of(i)) == 0);
            }
            result = Value::of(isGood);
            return true;
        }
        case Fn::equal:
            if (!entries(child(node, 1), other)) {
                return false;
            }
            result = Value::of(list.size() == other.size() &&
                               std::equal(list.begin(), list.end(), other.begin(),
                                          [](const Number& a, const Number& b) { return compare(a, b) == 0; }));
            return true;
        case Fn::sum:
        case Fn::prod: {
            Number total = Number::of(int64_t{node.function == Fn::sum ? 0 : 1});
            for (const Number& entry : list) {
                const Number before = total;
                if (!(node.function == Fn::sum ? add(before, entry, total) : multiply(before, entry, total))) {
                    return false;
                }
            }
            result = Value();
            result.type = Type::kNumber;
            result.number = total;
            return true;
        }
        case Fn::item:
            if (!integer(child(node, 1), count) || count < -size || count >= size) {
                return false;
            }
            result = Value();
            result.type = Type::kNumber;
            result.number = list[static_cast<size_t>(count < 0 ? count + size : count)];
            return true;
        case Fn::join:
            for (int i = 1; i < node.count; ++i) {
                if (!entries(child(node, i), other)) {
                    return false;
                }
                list.insert(list.end(), other.begin(), other.end());
            }
            break;
        default: {
            if (!integer(child(node, 1), count)) {
                return false;
            }
            if (node.function == Fn::tail) {
                if (count < 0 || count > size) {
                    return false;
                }
                count = size - count;
            }
            count = std::min(std::max<int64_t>(count, 0), size);
            if (node.function == Fn::head) {
                list.resize(static_cast<size_t>(count));
            } else {
                list.erase(list.begin(), list.begin() + count);
            }
        }
    }
    result = Value();
    result.type = Type::kList;
    result.list = std::move(list);
    return true;
}

bool Evaluator::ofNumbers(const Node& node, Value& result) const {
    Value first;
    if (!plain(child(node, 0), first)) {
        return false;
    }
    const Fn function = node.function;
    if (function == Fn::abs || function == Fn::is_whole || function == Fn::is_finite) {
        const bool many = isMany(first);
        Value found;
        found.type = function == Fn::abs ? Type::kList : Type::kBools;
        const std::vector<Number> list = many ? first.list : std::vector<Number>{first.number};
        for (const Number& entry : list) {
            const double real = entry.asReal();
            if (function == Fn::abs) {
                found.list.push_back(compare(entry, Number::of(int64_t{0})) == -1
                                         ? (entry.isReal ? Number::of(-real) : Number::of(-entry.integer))
                                         : entry);
            } else {
                const bool isGood = function == Fn::is_finite ? std::isfinite(real) : std::floor(real) == real;
                found.list.push_back(Number::of(int64_t{isGood && std::isfinite(real)}));
            }
        }
        if (many) {
            result = std::move(found);
        } else if (function == Fn::abs) {
            result = Value();
            result.type = Type::kNumber;
            result.number = found.list[0];
        } else {
            result = Value::of(found.list[0].integer != 0);
        }
        return true;
    }
    if (function == Fn::min || function == Fn::max) {
        std::vector<Number> list;
        for (int i = 0; i < node.count; ++i) {
            Value next;
            if (!plain(child(node, i), next)) {
                return false;
            }
            if (isMany(next)) {
                list.insert(list.end(), next.list.begin(), next.list.end());
            } else {
                list.push_back(next.type == Type::kBool ? Number::of(int64_t{next.truth}) : next.number);
            }
        }
        if (list.empty()) {
            return false;
        }
        const auto less = [](const Number& a, const Number& b) { return compare(a, b) == -1; };
        result = Value();
        result.type = Type::kNumber;
        result.number = function == Fn::min ? *std::min_element(list.begin(), list.end(), less)
                                            : *std::max_element(list.begin(), list.end(), less);
        return true;
    }
    Number one;
    Number other;
    if (!number(child(node, 0), one) || !number(child(node, 1), other)) {
        return false;
    }
    if (function == Fn::divides) {
        if (one.isReal || other.isReal) {
            return false;
        }
        result = Value::of(one.integer >= 1 && other.integer % one.integer == 0);
        return true;
    }
    Number quotient;
    Number rest;
    result = Value();
    result.type = Type::kNumber;
    if (one.isReal || other.isReal) {
        result.number = Number::of(std::ceil(one.asReal() / other.asReal()));
        return other.asReal() != 0;
    }
    return negate(Number(one), one) && divideDown(one, other, quotient, rest) && negate(quotient, result.number);
}

bool Evaluator::promoted(const Node& node, diopiDtype_t& result) const {
    Promotion promotion;
    for (int i = 0; i < node.count; ++i) {
        const Node& operand = nodes[child(node, i)];
        if (operand.op == Op::kParameter) {
            const Argument& one = arguments_.values[static_cast<size_t>(operand.integer)];
            if (one.isTensor && !one.isArray && !one.isNull) {
                promotion.add(one.tensor.dtype,
                              one.tensor.shape.len > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional);
                continue;
            }
        }
        Value found;
        if (!value(child(node, i), found)) {
            continue;  // a null does not take part
        }
        if (found.type == Type::kScalar) {
            promotion.add(found.dtype, Promotion::kNumber);
            continue;
        }
        const TensorArray array = found.type == Type::kTensor ? TensorArray{found.tensor, 1, nullptr} : found.tensors;
        for (int64_t k = 0; k < array.count; ++k) {
            const TensorView& one = array.first[k];
            promotion.add(one.dtype, one.shape.len > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional);
        }
    }
    result = promotion.result();
    return !promotion.isEmpty();
}

bool Evaluator::ofDtypes(const Node& node, Value& result) const {
    diopiDtype_t found = diopi_dtype_unsupported;
    if (!(node.function == Fn::promote ? promoted(node, found) : dtype(child(node, 0), found))) {
        return false;
    }
    const int kind = category(found);
    int64_t low = 0;
    uint64_t high = 0;
    switch (node.function) {
        case Fn::dtype:
        case Fn::promote:
            result = Value::of(found);
            return true;
        case Fn::to_float:
            result = Value::of(toFloat(found));
            return true;
        case Fn::accumulate:
            result = Value::of(kind >= 2 ? found : diopi_dtype_int64);
            return true;
        case Fn::to_real:
            result = Value::of(toReal(found));
            return true;
        case Fn::to_complex:
            result = Value::of(toComplex(found));
            return true;
        case Fn::category:
            result = Value::of(int64_t{kind});
            return true;
        case Fn::is_bool:
            result = Value::of(kind == 0);
            return true;
        case Fn::is_integral:
            result = Value::of(kind == 1);
            return true;
        case Fn::is_floating:
            result = Value::of(kind == 2);
            return true;
        case Fn::is_complex:
            result = Value::of(kind == 3);
            return true;
        case Fn::exact_integers:
            result = Value::of(exactIntegers(found));
            return true;
        default:
            break;
    }
    const bool hasRange = rangeOf(found, low, high);
    if (node.function == Fn::can_hold) {
        Number wanted;
        if (!number(child(node, 1), wanted)) {
            return false;
        }
        const double real = std::trunc(wanted.asReal());
        const bool isInteger =
            wanted.isReal
                // 2^63 is a double, the largest int64 is not.
                ? std::isfinite(real) && real >= static_cast<double>(low) && real < static_cast<double>(high) + 1
                : wanted.integer >= low && (wanted.integer < 0 || static_cast<uint64_t>(wanted.integer) <= high);
        const bool isReal = !std::isfinite(wanted.asReal()) || std::fabs(wanted.asReal()) <= largestOf(toReal(found));
        result = Value::of(hasRange ? isInteger : isReal);
        return true;
    }
    if (!hasRange || high > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return false;
    }
    result = Value::of(node.function == Fn::lowest ? low : static_cast<int64_t>(high));
    return true;
}

// Of tensors, lists and scalars; what is null does not take part.
bool Evaluator::broadcastOf(const Node& node, Sizes& result) const {
    Sizes joined;
    for (int i = 0; i < node.count; ++i) {
        Value found;
        if (!value(child(node, i), found) || found.type == Type::kScalar || found.type == Type::kNumber) {
            continue;
        }
        Sizes one;
        if (!sizes(child(node, i), one) || !broadcast(Sizes(joined), one, joined)) {
            return false;
        }
    }
    result = std::move(joined);
    return true;
}

bool Evaluator::ofShapes(const Node& node, Sizes& result) const {
    if (node.function == Fn::broadcast) {
        return broadcastOf(node, result);
    }
    const auto list = [&](int position, Sizes& found) { return sizes(child(node, position), found); };
    const auto one = [&](int position, int64_t& found) { return integer(child(node, position), found); };
    const auto flag = [&](int position, bool& found) { return truth(child(node, position), found); };
    if (node.function == Fn::concat || node.function == Fn::stack) {
        TensorArray array;
        int64_t dim = 0;
        if (!tensors(child(node, 0), array) || !one(1, dim)) {
            return false;
        }
        std::vector<Sizes> shapes;
        for (int64_t i = 0; i < array.count; ++i) {
            shapes.push_back(array.first[i].sizes());
        }
        return node.function == Fn::concat ? concat(shapes, dim, result) : stack(shapes, dim, result);
    }
    Sizes shape;
    if (!list(0, shape)) {
        return false;
    }
    Sizes a;
    Sizes b;
    Sizes c;
    Sizes d;
    int64_t x = 0;
    int64_t y = 0;
    int64_t z = 0;
    int64_t w = 0;
    bool is = false;
    switch (node.function) {
        case Fn::reduce: {
            Value dims;
            a.clear();
            const bool isGiven = value(child(node, 1), dims);
            if ((isGiven && !list(1, a)) || (node.count > 2 && !flag(2, is))) {
                return false;
            }
            return reduce(shape, a, is, result);
        }
        case Fn::without:
            return one(1, x) && without(shape, x, result);
        case Fn::resize:
            return one(1, x) && one(2, y) && resize(shape, x, y, result);
        case Fn::matmul:
            return list(1, a) && matmul(shape, a, result);
        case Fn::conv:
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && conv(shape, a, b, c, d, result);
        case Fn::conv_transpose: {
            Sizes e;
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && one(5, x) && list(6, e) &&
                   convTranspose(shape, a, b, c, d, x, e, result);
        }
        case Fn::pool:
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && flag(5, is) &&
                   pool(shape, a, b, c, d, is, result);
        case Fn::adaptive_pool:
            return list(1, a) && adaptivePool(shape, a, result);
        case Fn::permute:
            return list(1, a) && permute(shape, a, result);
        case Fn::transpose:
            return one(1, x) && one(2, y) && transpose(shape, x, y, result);
        case Fn::repeat:
            return list(1, a) && repeat(shape, a, result);
        case Fn::pad:
            return list(1, a) && pad(shape, a, result);
        case Fn::unfold:
            return one(1, x) && one(2, y) && one(3, z) && unfold(shape, x, y, z, result);
        case Fn::slice:
            return one(1, x) && one(2, y) && one(3, z) && one(4, w) && slice(shape, x, y, z, w, result);
        default:
            return false;
    }
}

}  // namespace

bool evaluate(const Arguments& arguments, int32_t node, Value& result) {
    return Evaluator(arguments).value(node, result);
}

bool evaluateShape(const Arguments& arguments, int32_t node, Sizes& result) {
    return Evaluator(arguments).sizes(node, result);
}

bool evaluateInteger(const Arguments& arguments, int32_t node, int64_t& result) {
    return Evaluator(arguments).integer(node, result);
}

bool evaluateDtype(const Arguments& arguments, int32_t node, diopiDtype_t& result) {
    return Evaluator(arguments).dtype(node, result);
}

bool holds(const Arguments& arguments, int32_t predicate) {
    bool result = true;
    return !Evaluator(arguments).truth(predicate, result) || result;
}

}  // namespace diopigen::contract
