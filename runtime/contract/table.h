// The contracts of operators as tables, which `diopigen generate` writes from the spec: what each parameter may be, and
// the predicates that every call satisfies. The grammar is that of docs/spec.md.
#ifndef DIOPIGEN_CONTRACT_TABLE_H_
#define DIOPIGEN_CONTRACT_TABLE_H_

#include <diopi/diopirt.h>

#include <cstdint>

#include "functions.h"

namespace diopigen::contract {

enum class Op : uint8_t {
    kInteger,
    kReal,
    kText,
    kParameter,
    kDimension,
    kTrue,
    kFalse,
    kNegate,
    kNot,
    kAnd,
    kOr,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kRemainder,
    kPower,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kCall,
};

// A part of an expression. The arguments are `children[first]` to `children[first + count - 1]`.
struct Node {
    Op op;
    Fn function = Fn::none;
    uint16_t count = 0;
    int32_t first = 0;
    int64_t integer = 0;  // of kInteger; the position of a parameter or dimension
    double real = 0;
    const char* text = nullptr;
};

struct Expressions {
    const Node* nodes;
    const int32_t* children;
};

enum class Entry : uint8_t { kFormula, kVariadic, kUnknown };

// An entry of a list of dimensions: `name` is the position of the dimension, or of the variadic entry, that it binds,
// or -1.
struct Dimension {
    Entry kind;
    int16_t name;
    int32_t formula;
};

enum class ShapeForm : uint8_t { kNone, kRule, kBroadcastable, kList };

enum Free : uint8_t { kFreeNullability = 1, kFreeDtype = 2, kFreeShape = 4, kFreeDevice = 8 };

struct Parameter {
    const char* name;
    bool is_nullable;
    bool is_read;
    uint8_t free;
    uint32_t dtypes;     // a bit for each dtype that the list, or a rule with alternatives, names; 0 for none
    int32_t dtype_rule;  // a node, or -1; of alternatives a call of one_of
    ShapeForm shape;
    int32_t shape_first;  // a node, of alternatives a call of one_of; or the first of `dimensions`
    uint16_t shape_count;
    int32_t values_first;  // the legal values of an enum, of `integers`; of a text, of `texts`
    uint16_t values_count;
    bool is_sparse;  // in compressed sparse rows
    int16_t shares;  // the position of the other output that may be the same tensor, or -1
};

struct Constraint {
    const char* id;
    const char* text;
    int32_t predicate;
    diopiError_t error;
    bool reads_elements;
};

struct Contract {
    int32_t parameters_first;
    int32_t constraints_first;
    uint16_t constraints_count;
    uint16_t dimensions_count;
};

// Written to generated/contract/contracts.cpp. `contracts` is in the order of `Id` (generated/contract/contracts.h).
extern const Node kNodes[];
extern const int32_t kChildren[];
extern const Dimension kDimensions[];
extern const int64_t kIntegers[];
extern const char* const kTexts[];
extern const Parameter kParameters[];
extern const Constraint kConstraints[];
extern const Contract kContracts[];

constexpr int kMostDimensions = 48;

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_TABLE_H_
