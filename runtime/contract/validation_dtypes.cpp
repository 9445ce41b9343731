#include "dtypes.h"
#include "validation.h"

namespace diopigen::contract {

namespace {

std::string listOf(uint32_t dtypes) {
    std::string text;
    for (int bit = 0; bit < 32; ++bit) {
        if ((dtypes >> bit & 1U) != 0) {
            text += (text.empty() ? "" : ", ") + std::string(dtypeName(static_cast<diopiDtype_t>(bit)));
        }
    }
    return text;
}

}  // namespace

void Validation::dtypes(int i) {
    const Parameter& rule = rules_[i];
    if ((rule.free & kFreeDtype) != 0) {
        return;
    }
    if (rule.dtypes != 0 && rule.dtypeRule < 0) {
        eachTensor(i, [&](const TensorView& tensor) {
            if (!isIn(rule.dtypes, tensor.dtype)) {
                fail(i, std::string("is ") + dtypeName(tensor.dtype) + "; possible are " + listOf(rule.dtypes),
                     diopiDtypeNotSupported);
            }
        });
        scalarDtype(i, rule);
    }
}

void Validation::ruledDtypes(int i) {
    const Parameter& rule = rules_[i];
    if (rule.dtypeRule >= 0 && (rule.free & kFreeDtype) == 0) {
        ruledDtype(i, rule);
    }
}

void Validation::ruledDtype(int i, const Parameter& rule) {
    const Node& node = nodes[rule.dtypeRule];
    if (node.function == Fn::one_of) {
        alternativeDtype(i, rule, node);
        return;
    }
    const bool isSame = node.function == Fn::dtype;
    const Node& source = nodes[children[node.first]];
    const bool followsArray =
        isSame && source.op == Op::kParameter && argument(static_cast<int>(source.integer)).isArray;
    size_t member = 0;
    eachTensor(i, [&](const TensorView& tensor) {
        diopiDtype_t expected = diopi_dtype_unsupported;
        const size_t at = member++;
        if (followsArray) {
            const std::vector<TensorView>& others = argument(static_cast<int>(source.integer)).tensors;
            if (at >= others.size()) {
                return;
            }
            expected = others[at].dtype;
        } else if (!evaluateDtype(arguments_, rule.dtypeRule, expected)) {
            return;
        }
        // A promoted result may be cast to a dtype of its category or a higher one.
        const bool isCast = !isSame && !rule.isRead && category(tensor.dtype) >= category(expected);
        if (tensor.dtype != expected && !isCast) {
            const std::string source = textOfOperands(node);
            fail(i,
                 std::string("is ") + dtypeName(tensor.dtype) + " and must be " + dtypeName(expected) + " (" + source +
                     ")",
                 diopiDtypeNotSupported);
        }
    });
}

// Any of the dtypes that the rule allows.
void Validation::alternativeDtype(int i, const Parameter& rule, const Node& node) {
    uint32_t possible = rule.dtypes;
    for (int k = 0; k < node.count; ++k) {
        diopiDtype_t one = diopi_dtype_unsupported;
        if (!evaluateDtype(arguments_, children[node.first + k], one)) {
            return;  // it follows from a null
        }
        possible |= bitOf(one);
    }
    eachTensor(i, [&](const TensorView& tensor) {
        if (!isIn(possible, tensor.dtype)) {
            fail(i,
                 std::string("is ") + dtypeName(tensor.dtype) + "; possible are " + listOf(possible) + " (" +
                     textOfOperands(node) + ")",
                 diopiDtypeNotSupported);
        }
    });
}

// A number of any floating dtype stands for all of them, any other for integers and bool.
void Validation::scalarDtype(int i, const Parameter& rule) {
    const Argument& one = argument(i);
    if (one.isNull || one.isRoom || one.isTensor || !one.value || one.value->type != Value::Type::kScalar) {
        return;
    }
    const bool isReal = isFloating(one.value->dtype);
    if (isReal ? (rule.dtypes & kFloatingDtypes) == 0 : (rule.dtypes & ~kFloatingDtypes) == 0) {
        fail(i,
             std::string("is a number of dtype ") + dtypeName(one.value->dtype) + "; possible are " +
                 listOf(rule.dtypes),
             diopiDtypeNotSupported);
    }
}

}  // namespace diopigen::contract
