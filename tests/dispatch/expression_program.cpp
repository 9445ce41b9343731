// Values of expressions, as runtime/contract evaluates them. The input has the nodes and children of all expressions as
// `diopigen/emit/contract/tables.py` writes them, and then calls: the arguments, the dimensions, and the expressions to
// evaluate over them. A line of output is a value, in which `r` follows a real number, or `undefined`.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "dtypes.h"
#include "evaluate.h"
#include "evaluator.h"

using namespace diopigen::contract;

namespace {

std::deque<std::string> texts;
std::deque<Sizes> shapes;
std::deque<Numbers> elements;

std::string word() {
    std::string found;
    std::cin >> found;
    return found;
}

int64_t integer() { return std::strtoll(word().c_str(), nullptr, 10); }
double real() { return std::strtod(word().c_str(), nullptr); }
Number number() { return word() == "i" ? Number::of(integer()) : Number::of(real()); }
const char* text() { return texts.emplace_back(word()).c_str(); }
diopiDtype_t dtype() { return static_cast<diopiDtype_t>(integer()); }

template <typename Read>
auto several(const Read& read) {
    std::vector<decltype(read())> found(static_cast<size_t>(integer()));
    for (auto& one : found) {
        one = read();
    }
    return found;
}

Node node() {
    Node found{};
    found.op = static_cast<Op>(integer());
    found.function = static_cast<Fn>(integer());
    found.count = static_cast<uint16_t>(integer());
    found.first = static_cast<int32_t>(integer());
    found.integer = integer();
    found.real = real();
    found.text = text();
    return found;
}

// `-` for a null one, or the dtype, the sizes, and where they are known the elements.
TensorView tensor() {
    TensorView found;
    const std::string first = word();
    if (first == "-") {
        return found;
    }
    found.handle = reinterpret_cast<diopiConstTensorHandle_t>(&shapes);
    found.dtype = static_cast<diopiDtype_t>(std::strtol(first.c_str(), nullptr, 10));
    const Sizes& shape = shapes.emplace_back(several(integer));
    found.shape = {shape.data(), static_cast<int64_t>(shape.size())};
    if (word() == "known") {
        found.data = &elements.emplace_back(several(number));
    }
    return found;
}

Argument argument() {
    Argument found;
    const std::string kind = word();
    found.is_null = kind == "null";
    found.is_tensor = kind == "tensor" || kind == "tensors";
    found.is_array = kind == "tensors";
    if (kind == "tensor") {
        found.tensor = tensor();
    } else if (kind == "tensors") {
        found.members = several(tensor);
        std::copy_if(found.members.begin(), found.members.end(), std::back_inserter(found.tensors),
                     [](const TensorView& one) { return !one.is_null(); });
    } else if (kind == "bool") {
        found.value = Value::of(integer() != 0);
    } else if (kind == "number") {
        found.value = Value::of(number());
    } else if (kind == "sizes") {
        found.value = Value::of(Sizes(several(integer)));
    } else if (kind == "scalar" || kind == "text") {
        found.value = Value();
        found.value->type = kind == "text" ? Value::Type::kText : Value::Type::kScalar;
        if (kind == "text") {
            found.value->text = text();
        } else {
            found.value->dtype = dtype();
            found.value->number = number();
        }
    }
    return found;
}

void print(const Number& number) {
    number.is_real ? std::printf(" %.17gr", number.real) : std::printf(" %" PRId64, number.integer);
}

void print(const Value& value) {
    switch (value.type) {
        case Value::Type::kBool:
            std::printf("bool %d\n", value.boolean ? 1 : 0);
            return;
        case Value::Type::kNumber:
            std::printf("number");
            print(value.number);
            break;
        case Value::Type::kDtype:
        case Value::Type::kText:
            std::printf("word %s", word_of(value));
            break;
        case Value::Type::kList:
        case Value::Type::kBools:
            std::printf("list");
            for (const Number& entry : value.list) {
                print(entry);
            }
            break;
        default:
            std::printf("operand");
    }
    std::printf("\n");
}

}  // namespace

int main() {
    const std::vector<Node> nodes = several(node);
    const std::vector<int32_t> children = several([] { return static_cast<int32_t>(integer()); });
    std::string first;
    while (std::cin >> first) {
        Arguments arguments;
        arguments.expressions = {nodes.data(), children.data()};
        arguments.elements = [](const TensorView& tensor, Numbers& result) {
            if (tensor.data != nullptr) {
                result = *static_cast<const Numbers*>(tensor.data);
            }
            return tensor.data != nullptr;
        };
        arguments.values = several(argument);
        const Sizes dimensions = several(integer);  // -1 for one that is not bound
        for (size_t i = 0; i < dimensions.size(); ++i) {
            arguments.dimensions[i] = dimensions[i];
            arguments.is_bound[i] = dimensions[i] >= 0;
        }
        for (const int64_t root : several(integer)) {
            Value value;
            if (evaluate(arguments, static_cast<int32_t>(root), value)) {
                print(value);
            } else {
                std::printf("undefined\n");
            }
        }
    }
    return 0;
}
