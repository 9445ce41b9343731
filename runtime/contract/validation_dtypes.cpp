#include "dtypes.h"
#include "validation.h"

namespace diopigen::contract {

namespace {

std::string list_of(uint32_t dtypes) {
    std::string text;
    for (int bit = 0; bit < 32; ++bit) {
        if ((dtypes >> bit & 1U) != 0) {
            text += (text.empty() ? "" : ", ") + std::string(dtype_name(static_cast<diopiDtype_t>(bit)));
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
    if (rule.dtypes != 0 && rule.dtype_rule < 0) {
        each_tensor(i, [&](const TensorView& tensor) {
            if (!is_in(rule.dtypes, tensor.dtype)) {
                fail(i, std::string("is ") + dtype_name(tensor.dtype) + "; possible are " + list_of(rule.dtypes),
                     diopiDtypeNotSupported);
            }
        });
        scalar_dtype(i, rule);
    }
}

void Validation::ruled_dtypes(int i) {
    const Parameter& rule = rules_[i];
    if (rule.dtype_rule >= 0 && (rule.free & kFreeDtype) == 0) {
        ruled_dtype(i, rule);
    }
}

void Validation::ruled_dtype(int i, const Parameter& rule) {
    const Node& node = kNodes[rule.dtype_rule];
    if (node.function == Fn::one_of) {
        alternative_dtype(i, rule, node);
        return;
    }
    const bool is_same = node.function == Fn::dtype;
    const Node& source = kNodes[kChildren[node.first]];
    const bool follows_array =
        is_same && source.op == Op::kParameter && argument(static_cast<int>(source.integer)).is_array;
    size_t member = 0;
    each_tensor(i, [&](const TensorView& tensor) {
        diopiDtype_t expected = diopi_dtype_unsupported;
        const size_t at = member++;
        if (follows_array) {
            const std::vector<TensorView>& others = argument(static_cast<int>(source.integer)).tensors;
            if (at >= others.size()) {
                return;
            }
            expected = others[at].dtype;
        } else if (!evaluate_dtype(arguments_, rule.dtype_rule, expected)) {
            return;
        }
        // A promoted result may be cast to a dtype of its category or a higher one.
        const bool is_cast = !is_same && !rule.is_read && category(tensor.dtype) >= category(expected);
        if (tensor.dtype != expected && !is_cast) {
            const std::string source = text_of_operands(node);
            fail(i,
                 std::string("is ") + dtype_name(tensor.dtype) + " and must be " + dtype_name(expected) + " (" +
                     source + ")",
                 diopiDtypeNotSupported);
        }
    });
}

// Any of the dtypes that the rule allows.
void Validation::alternative_dtype(int i, const Parameter& rule, const Node& node) {
    uint32_t possible = rule.dtypes;
    for (int k = 0; k < node.count; ++k) {
        diopiDtype_t one = diopi_dtype_unsupported;
        if (!evaluate_dtype(arguments_, kChildren[node.first + k], one)) {
            return;  // it follows from a null
        }
        possible |= bit_of(one);
    }
    each_tensor(i, [&](const TensorView& tensor) {
        if (!is_in(possible, tensor.dtype)) {
            fail(i,
                 std::string("is ") + dtype_name(tensor.dtype) + "; possible are " + list_of(possible) + " (" +
                     text_of_operands(node) + ")",
                 diopiDtypeNotSupported);
        }
    });
}

// A number of any floating dtype stands for all of them, any other for integers and bool.
void Validation::scalar_dtype(int i, const Parameter& rule) {
    const Argument& one = argument(i);
    if (one.is_null || one.is_room || one.is_tensor || !one.value || one.value->type != Value::Type::kScalar) {
        return;
    }
    const bool is_real = is_floating(one.value->dtype);
    if (is_real ? (rule.dtypes & kFloatingDtypes) == 0 : (rule.dtypes & ~kFloatingDtypes) == 0) {
        fail(i,
             std::string("is a number of dtype ") + dtype_name(one.value->dtype) + "; possible are " +
                 list_of(rule.dtypes),
             diopiDtypeNotSupported);
    }
}

}  // namespace diopigen::contract
