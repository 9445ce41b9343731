#include "validate.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dtypes.h"
#include "element.h"
#include "evaluate.h"
#include "host_copy.h"
#include "shapes.h"
#include "table.h"
#include "tensor.h"
#include "text.h"

namespace diopigen::dispatch {

namespace {

using contract::Argument;
using contract::Arguments;
using contract::Constraint;
using contract::Contract;
using contract::Dimension;
using contract::Number;
using contract::Parameter;
using contract::ShapeForm;
using contract::Sizes;
using contract::TensorView;
using contract::Value;

// ---- Arguments ----

TensorView viewOf(diopiConstTensorHandle_t handle) {
    TensorView view;
    view.handle = handle;
    require(diopiGetTensorShape(handle, &view.shape), "diopiGetTensorShape");
    require(diopiGetTensorDtype(handle, &view.dtype), "diopiGetTensorDtype");
    view.isSparse = isSparse(handle);
    return view;
}

int64_t integerOf(const Operand& operand, const void* value) {
    switch (operand.width) {
        case 1:
            return *static_cast<const int8_t*>(value);
        case 4:
            return *static_cast<const int32_t*>(value);
        default:
            return *static_cast<const int64_t*>(value);
    }
}

Value scalarOf(const diopiScalar_t& scalar) {
    Value made;
    made.type = Value::Type::kScalar;
    made.dtype = scalar.stype;
    made.number = isFloating(scalar.stype) ? Number::of(scalar.fval) : Number::of(scalar.ival);
    return made;
}

Argument plainArgument(const Operand& operand) {
    Argument made;
    const void* const value = operand.value();
    made.isNull = value == nullptr;
    if (made.isNull) {
        return made;
    }
    if (operand.isWritten() && operand.points) {
        made.isRoom = true;
        return made;
    }
    switch (operand.kind) {
        case Kind::truth:
            made.value = Value::of(*static_cast<const bool*>(value));
            break;
        case Kind::integer:
            made.value = Value::of(integerOf(operand, value));
            break;
        case Kind::real:
            made.value = Value::of(operand.width == 4 ? static_cast<double>(*static_cast<const float*>(value))
                                                      : *static_cast<const double*>(value));
            break;
        case Kind::scalar:
            made.value = scalarOf(*static_cast<const diopiScalar_t*>(value));
            break;
        case Kind::sizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            made.isNull = sizes.data == nullptr && sizes.len > 0;
            if (!made.isNull) {
                made.value = Value::of(Sizes(sizes.data, sizes.data + sizes.len));
            }
            break;
        }
        case Kind::text:
            made.value.emplace();
            made.value->type = Value::Type::kText;
            made.value->text = *static_cast<const char* const*>(value);
            made.isNull = made.value->text == nullptr;
            break;
        case Kind::generator:
            made.isNull = *static_cast<void* const*>(value) == nullptr;
            made.isRoom = true;
            break;
        default:
            made.isRoom = true;
            break;
    }
    return made;
}

Argument argumentOf(const Operand& operand, const Parameter& rule) {
    Argument made;
    switch (operand.kind) {
        case Kind::tensor:
            made.isTensor = true;
            made.isNull = operand.handle() == nullptr;
            if (!made.isNull) {
                made.tensor = viewOf(operand.handle());
                // Hosts pass an empty tensor for one that is not there.
                made.isNull = rule.isNullable && made.tensor.shape.len == 1 && made.tensor.shape.data[0] == 0;
            }
            return made;
        case Kind::tensors:
            made.isTensor = made.isArray = true;
            made.isNull = operand.handles() == nullptr && operand.count > 0;
            for (int64_t i = 0; !made.isNull && i < operand.count; ++i) {
                const diopiConstTensorHandle_t handle = operand.handles()[i];
                made.members.push_back(handle == nullptr ? TensorView() : viewOf(handle));
                if (handle != nullptr) {
                    made.tensors.push_back(made.members.back());
                }
            }
            return made;
        case Kind::made:
            made.isNull = operand.handles() == nullptr;
            made.isRoom = true;
            return made;
        default:
            return plainArgument(operand);
    }
}

// The memory of a dense tensor, from its first element to the end of its last; empty for a sparse one.
struct Extent {
    uintptr_t address = 0;
    uint64_t bytes = 0;
    bool isGapless = false;
};

Extent extentOf(const TensorView& tensor) {
    Extent extent;
    diopiSize_t stride{};
    int64_t elementBytes = 0;
    const void* data = nullptr;
    if (tensor.isSparse) {
        return extent;
    }
    require(diopiGetTensorStride(tensor.handle, &stride), "diopiGetTensorStride");
    require(diopiGetTensorElemSize(tensor.handle, &elementBytes), "diopiGetTensorElemSize");
    require(diopiGetTensorDataConst(tensor.handle, &data), "diopiGetTensorDataConst");
    int64_t last = 0;
    int64_t numel = 1;
    for (int64_t i = 0; i < tensor.shape.len; ++i) {
        last += (tensor.shape.data[i] - 1) * stride.data[i];
        numel *= tensor.shape.data[i];
    }
    extent.address = reinterpret_cast<uintptr_t>(data);
    extent.bytes = numel == 0 ? 0 : static_cast<uint64_t>((last + 1) * elementBytes);
    extent.isGapless = numel == last + 1;
    return extent;
}

bool isSameShape(const diopiSize_t& a, const diopiSize_t& b) {
    return a.len == b.len && std::equal(a.data, a.data + a.len, b.data);
}

// ---- Checks ----

// Text of the parameters that an expression reads: ", dim=5, input=float32[2, 3]".
void addOperands(int32_t index, Operands operands, std::vector<bool>& isNamed, std::string& text) {
    const contract::Node& node = contract::nodes[index];
    if (node.op == contract::Op::kParameter) {
        const auto position = static_cast<size_t>(node.integer);
        if (!isNamed[position]) {
            isNamed[position] = true;
            const Operand& operand = operands.first[position];
            text += std::string(text.empty() ? "" : ", ") + operand.name + "=" + textOf(operand);
        }
    }
    for (int i = 0; i < node.count; ++i) {
        addOperands(contract::children[node.first + i], operands, isNamed, text);
    }
}

class Validation {
  public:
    Validation(const Contract& contract, Operands operands)
        : contract_(contract), rules_(&contract::parameters[contract.parametersFirst]), operands_(operands) {
        static thread_local std::vector<Argument> memory;  // kept from call to call
        arguments_.values.swap(memory);
        memory_ = &memory;
        arguments_.values.clear();
        arguments_.values.reserve(static_cast<size_t>(operands.count));
        for (int64_t i = 0; i < operands.count; ++i) {
            arguments_.values.push_back(argumentOf(operands.first[i], rules_[i]));
        }
    }

    Validation(const Validation&) = delete;
    Validation& operator=(const Validation&) = delete;
    ~Validation() { memory_->swap(arguments_.values); }

    std::optional<Failure> run(diopiContextHandle_t ctx, bool readsElements) {
        for (const auto check : {&Validation::presence, &Validation::values, &Validation::dtypes, &Validation::ranks,
                                 &Validation::shapes, &Validation::devices}) {
            for (int i = 0; i < operands_.count && !found_; ++i) {
                (this->*check)(i);
            }
        }
        if (!found_) {
            constraints(ctx, readsElements);
        }
        return found_;
    }

  private:
    const Argument& argument(int i) const { return arguments_.values[static_cast<size_t>(i)]; }
    void fail(int i, const std::string& text) {
        found_ = Failure(diopiErrorOccurred, "'" + std::string(rules_[i].name) + "' " + text);
    }
    std::string textOfOperand(int i) const { return textOf(operands_.first[i]); }

    template <typename Check>
    void eachTensor(int i, const Check& check) {
        const Argument& one = argument(i);
        if (!one.isTensor || one.isNull) {
            return;
        }
        if (!one.isArray) {
            check(one.tensor);
            return;
        }
        for (const TensorView& tensor : one.tensors) {
            check(tensor);
        }
    }

    void presence(int i) {
        const Parameter& rule = rules_[i];
        const Kind kind = operands_.first[i].kind;
        if (argument(i).isNull && !rule.isNullable && (rule.free & contract::kFreeNullability) == 0 &&
            kind != Kind::other) {
            fail(i, "must not be null");
        }
    }

    // The values of enums and texts.
    void values(int i) {
        const Parameter& rule = rules_[i];
        const Argument& one = argument(i);
        if (rule.valuesCount == 0 || one.isNull || one.isRoom || !one.value) {
            return;
        }
        bool isLegal = false;
        std::string legal;
        for (int k = 0; k < rule.valuesCount; ++k) {
            const int32_t at = rule.valuesFirst + k;
            const bool isText = one.value->type == Value::Type::kText;
            isLegal = isLegal || (isText ? std::string(contract::texts[at]) == one.value->text
                                         : contract::integers[at] == one.value->number.integer);
            legal += (k > 0 ? ", " : "") +
                     (isText ? "'" + std::string(contract::texts[at]) + "'" : std::to_string(contract::integers[at]));
        }
        if (!isLegal) {
            fail(i, "is " + textOfOperand(i) + "; possible are " + legal);
        }
    }

    std::string listOf(uint32_t dtypes) const {
        std::string text;
        for (int bit = 0; bit < 32; ++bit) {
            if ((dtypes >> bit & 1U) != 0) {
                text += (text.empty() ? "" : ", ") + std::string(nameOf(static_cast<diopiDtype_t>(bit)));
            }
        }
        return text;
    }

    void dtypes(int i) {
        const Parameter& rule = rules_[i];
        if ((rule.free & contract::kFreeDtype) != 0) {
            return;
        }
        const auto isListed = [&](diopiDtype_t dtype) {
            return static_cast<uint32_t>(dtype) < 32 && (rule.dtypes >> static_cast<uint32_t>(dtype) & 1U) != 0;
        };
        if (rule.dtypes != 0) {
            eachTensor(i, [&](const TensorView& tensor) {
                if (!isListed(tensor.dtype)) {
                    fail(i, std::string("is ") + nameOf(tensor.dtype) + "; possible are " + listOf(rule.dtypes));
                }
            });
            scalarDtype(i, rule);
        }
        if (rule.dtypeRule >= 0) {
            ruledDtype(i, rule);
        }
    }

    void ruledDtype(int i, const Parameter& rule) {
        const contract::Node& node = contract::nodes[rule.dtypeRule];
        const bool isSame = node.function == contract::Fn::dtype;
        const contract::Node& source = contract::nodes[contract::children[node.first]];
        const bool followsArray =
            isSame && source.op == contract::Op::kParameter && argument(static_cast<int>(source.integer)).isArray;
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
            const bool isCast =
                !isSame && !rule.isRead && contract::category(tensor.dtype) >= contract::category(expected);
            if (tensor.dtype != expected && !isCast) {
                fail(i, std::string("is ") + nameOf(tensor.dtype) + " and must be " + nameOf(expected));
            }
        });
    }

    // A number of any floating dtype stands for all of them, any other for integers and bool.
    void scalarDtype(int i, const Parameter& rule) {
        const Argument& one = argument(i);
        if (one.isNull || one.isRoom || one.isTensor || !one.value || one.value->type != Value::Type::kScalar) {
            return;
        }
        constexpr uint32_t kFloats = 1U << diopi_dtype_float16 | 1U << diopi_dtype_bfloat16 |
                                     1U << diopi_dtype_float32 | 1U << diopi_dtype_float64;
        const bool isReal = isFloating(one.value->dtype);
        if (isReal ? (rule.dtypes & kFloats) == 0 : (rule.dtypes & ~kFloats) == 0) {
            fail(i, std::string("is a number of dtype ") + nameOf(one.value->dtype) + "; possible are " +
                        listOf(rule.dtypes));
        }
    }

    // Ranks of tensors with a list of dimensions; what fits binds the names in it.
    void ranks(int i) {
        const Parameter& rule = rules_[i];
        const Argument& one = argument(i);
        if (rule.shape != ShapeForm::kList || !one.isTensor || one.isNull || one.isArray) {
            return;
        }
        const Dimension* const entries = &contract::dimensions[rule.shapeFirst];
        int variadic = -1;
        for (int k = 0; k < rule.shapeCount; ++k) {
            variadic = entries[k].kind == contract::Entry::kVariadic ? k : variadic;
        }
        const int64_t rank = one.tensor.shape.len;
        const int64_t fixed = rule.shapeCount - (variadic >= 0 ? 1 : 0);
        // [] and [1] stand for each other.
        const bool isOne = fixed <= 1 && (rank == 0 || (rank == 1 && one.tensor.shape.data[0] == 1));
        if (variadic >= 0 ? rank < fixed : rank != fixed) {
            if ((rule.free & contract::kFreeShape) == 0 && !isOne) {
                fail(i, "is " + textOfOperand(i) + " and must have " + (variadic >= 0 ? "at least " : "") +
                            std::to_string(fixed) + " dimensions");
            }
            return;
        }
        if (!rule.isRead) {
            return;
        }
        for (int k = 0; k < rule.shapeCount; ++k) {
            if (k == variadic || entries[k].name < 0) {
                continue;
            }
            const int64_t at = variadic >= 0 && k > variadic ? rank - rule.shapeCount + k : k;
            const auto name = static_cast<size_t>(entries[k].name);
            if (!arguments_.isBound[name]) {
                arguments_.isBound[name] = true;
                arguments_.dimensions[name] = one.tensor.shape.data[at];
            }
        }
    }

    static bool isAlike(const Sizes& shape, const Sizes& expected) {
        const auto isOne = [](const Sizes& sizes) { return sizes.empty() || sizes == Sizes{1}; };
        return shape == expected || (isOne(shape) && isOne(expected));
    }

    void failShape(int i, const Sizes& expected) {
        fail(i, "is " + textOfOperand(i) + " and must have the shape " + textOf(expected));
    }

    void shapes(int i) {
        const Parameter& rule = rules_[i];
        const Argument& one = argument(i);
        if (!one.isTensor || one.isNull) {
            return;
        }
        if ((rule.free & contract::kFreeShape) != 0) {
            // Whatever a library makes of its shape, its operands have to broadcast.
            Sizes ignored;
            const contract::Node& node = contract::nodes[rule.shapeFirst];
            if (rule.shape == ShapeForm::kRule && node.function == contract::Fn::broadcast &&
                !evaluateShape(arguments_, rule.shapeFirst, ignored)) {
                noBroadcast(i, node);
            }
            return;
        }
        if (rule.shape == ShapeForm::kList && !one.isArray) {
            listed(i, rule, one.tensor);
        } else if (rule.shape == ShapeForm::kRule || rule.shape == ShapeForm::kBroadcastable) {
            ruled(i, rule, one);
        }
    }

    void listed(int i, const Parameter& rule, const TensorView& tensor) {
        const Dimension* const entries = &contract::dimensions[rule.shapeFirst];
        const int64_t rank = tensor.shape.len;
        bool isVariadic = false;
        for (int k = 0; k < rule.shapeCount; ++k) {
            if (entries[k].kind == contract::Entry::kVariadic) {
                isVariadic = true;
                continue;
            }
            const int64_t at = isVariadic ? rank - rule.shapeCount + k : k;
            int64_t expected = 0;
            const bool isKnown = at < rank && entries[k].kind == contract::Entry::kFormula &&
                                 (entries[k].name >= 0 ? bound(entries[k].name, expected)
                                                       : evaluateInteger(arguments_, entries[k].formula, expected));
            if (isKnown && tensor.shape.data[at] != expected) {
                fail(i, "is " + textOfOperand(i) + " and must have " + std::to_string(expected) + " in dimension " +
                            std::to_string(at));
                return;
            }
        }
    }

    bool bound(int16_t name, int64_t& size) const {
        size = arguments_.dimensions[static_cast<size_t>(name)];
        return arguments_.isBound[static_cast<size_t>(name)];
    }

    void ruled(int i, const Parameter& rule, const Argument& one) {
        const contract::Node& node = contract::nodes[rule.shapeFirst];
        if (one.isArray) {
            arrayLike(i, rule, node, one);
            return;
        }
        if (isPlainly(node, one.tensor)) {
            return;
        }
        Sizes expected;
        if (!evaluateShape(arguments_, rule.shapeFirst, expected)) {
            if (node.function == contract::Fn::broadcast) {
                noBroadcast(i, node);
            }
            return;
        }
        const Sizes shape = one.tensor.sizes();
        if (rule.shape == ShapeForm::kBroadcastable) {
            Sizes joined;
            if (!contract::broadcast(shape, expected, joined) || !isAlike(joined, expected)) {
                fail(i, "is " + textOfOperand(i) + ", which does not broadcast to " + textOf(expected));
            }
            return;
        }
        if (isAlike(shape, expected)) {
            return;
        }
        // Without a flag for it, reduced dimensions may stay with size 1.
        if (node.function == contract::Fn::reduce && node.count == 2) {
            Sizes squeezed;
            for (const int64_t size : shape) {
                if (size != 1) {
                    squeezed.push_back(size);
                }
            }
            Sizes other;
            for (const int64_t size : expected) {
                if (size != 1) {
                    other.push_back(size);
                }
            }
            if (squeezed == other) {
                return;
            }
        }
        failShape(i, expected);
    }

    // The usual case without a list: the shape of a tensor, or of tensors that all have this shape.
    bool isPlainly(const contract::Node& node, const TensorView& tensor) const {
        if (node.function != contract::Fn::sizes && node.function != contract::Fn::broadcast) {
            return false;
        }
        bool hasTensor = false;
        for (int k = 0; k < node.count; ++k) {
            const contract::Node& child = contract::nodes[contract::children[node.first + k]];
            if (child.op != contract::Op::kParameter) {
                return false;
            }
            const Argument& other = argument(static_cast<int>(child.integer));
            hasTensor = hasTensor || other.isTensor;
            if (other.isNull || other.isArray || (other.isTensor && !isSameShape(other.tensor.shape, tensor.shape))) {
                return false;
            }
        }
        return hasTensor;
    }

    void noBroadcast(int i, const contract::Node& node) {
        std::vector<bool> isNamed(static_cast<size_t>(operands_.count));
        std::string text;
        for (int k = 0; k < node.count; ++k) {
            addOperands(contract::children[node.first + k], operands_, isNamed, text);
        }
        fail(i, "cannot have the shape of its operands: they do not broadcast (" + text + ")");
    }

    // Arrays follow arrays member by member.
    void arrayLike(int i, const Parameter& rule, const contract::Node& node, const Argument& one) {
        if (rule.shape != ShapeForm::kRule || node.function != contract::Fn::sizes) {
            return;
        }
        const contract::Node& source = contract::nodes[contract::children[node.first]];
        if (source.op != contract::Op::kParameter) {
            return;
        }
        const Argument& other = argument(static_cast<int>(source.integer));
        if (!other.isArray || other.tensors.size() != one.tensors.size()) {
            return;
        }
        for (size_t k = 0; k < one.tensors.size(); ++k) {
            const Sizes expected = other.tensors[k].sizes();
            if (!isAlike(one.tensors[k].sizes(), expected)) {
                fail(i, "has the shape " + textOf(one.tensors[k].sizes()) + " in member " + std::to_string(k) +
                            " and must have " + textOf(expected));
                return;
            }
        }
    }

    // Tensors with dimensions are on one device; a number may be on the host.
    void devices(int i) {
        if (i != 0) {
            return;
        }
        int onHost = 0;
        int elsewhere = 0;
        int lastOnHost = 0;
        int lastElsewhere = 0;
        for (int k = 0; k < operands_.count; ++k) {
            if ((rules_[k].free & contract::kFreeDevice) != 0) {
                continue;
            }
            eachTensor(k, [&](const TensorView& tensor) {
                diopiDevice_t device = diopi_host;
                if (tensor.shape.len == 0 || tensor.isSparse) {
                    return;
                }
                require(diopiGetTensorDevice(tensor.handle, &device), "diopiGetTensorDevice");
                (device == diopi_host ? onHost : elsewhere) += 1;
                (device == diopi_host ? lastOnHost : lastElsewhere) = k;
            });
        }
        if (onHost > 0 && elsewhere > 0) {
            fail(onHost <= elsewhere ? lastOnHost : lastElsewhere,
                 onHost <= elsewhere ? "is on the host, other tensors are on the device"
                                     : "is on the device, other tensors are on the host");
        }
    }

    void constraints(diopiContextHandle_t ctx, bool readsElements) {
        std::optional<HostCopy> copy;
        for (int i = 0; i < contract_.constraintsCount; ++i) {
            const Constraint& constraint = contract::constraints[contract_.constraintsFirst + i];
            if (constraint.predicate < 0 || (constraint.readsElements && !readsElements)) {
                continue;
            }
            if (constraint.readsElements && !copy) {
                copy.emplace(ctx, operands_, Fetch::read);
                arguments_.elements = [&copy](const TensorView& tensor, std::vector<Number>& elements) {
                    return read(*copy, tensor, elements);
                };
            }
            if (!holds(arguments_, constraint.predicate)) {
                std::vector<bool> isNamed(static_cast<size_t>(operands_.count));
                std::string text;
                addOperands(constraint.predicate, operands_, isNamed, text);
                found_ =
                    Failure(constraint.error, std::string(constraint.id) + ": " + constraint.text + " (" + text + ")");
                return;
            }
        }
    }

    static bool read(const HostCopy& copy, const TensorView& tensor, std::vector<Number>& elements);

    const Contract& contract_;
    const Parameter* rules_;
    Operands operands_;
    Arguments arguments_;
    std::vector<Argument>* memory_ = nullptr;
    std::optional<Failure> found_;
};

bool Validation::read(const HostCopy& copy, const TensorView& tensor, std::vector<Number>& elements) {
    for (const auto& one : copy.tensors()) {
        const Operand& operand = *one.operand;
        const diopiConstTensorHandle_t handle =
            operand.kind == Kind::tensors ? operand.handles()[one.index] : operand.handle();
        if (handle != tensor.handle || isComplex(tensor.dtype)) {
            continue;
        }
        elements.clear();
        Index index(one.info.shape);
        for (int64_t i = 0; i < one.info.numel; ++i, index.advance()) {
            const char* const element = one.data + index.offset(one.info);
            elements.push_back(isFloating(tensor.dtype) ? Number::of(realAt(tensor.dtype, element, 0))
                                                        : Number::of(integerAt(tensor.dtype, element)));
        }
        return true;
    }
    return false;
}

// ---- Memory ----

// A tensor of the call and its memory.
struct Owned {
    Extent extent;
    const Operand* operand;
};

// ---- What was validated last ----

// All that the checks but those of memory and elements depend on, as numbers: calls of a model repeat themselves.
using Signature = std::vector<int64_t>;

void addTensor(const Operand& operand, diopiConstTensorHandle_t handle, Signature& signature,
               std::vector<Owned>& owned) {
    if (handle == nullptr) {
        signature.push_back(-1);
        return;
    }
    const TensorView view = viewOf(handle);
    diopiDevice_t device = diopi_host;
    require(diopiGetTensorDevice(handle, &device), "diopiGetTensorDevice");
    signature.push_back(view.dtype << 16 | device << 1 | (view.isSparse ? 1 : 0));
    signature.push_back(view.shape.len);
    signature.insert(signature.end(), view.shape.data, view.shape.data + view.shape.len);
    owned.push_back({extentOf(view), &operand});
}

int64_t bitsOf(double value) {
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

void addPlain(const Operand& operand, Signature& signature) {
    const void* const value = operand.value();
    if (value == nullptr || operand.isWritten()) {
        signature.push_back(value == nullptr ? -1 : -2);
        return;
    }
    switch (operand.kind) {
        case Kind::truth:
            signature.push_back(*static_cast<const bool*>(value) ? 1 : 0);
            break;
        case Kind::integer:
            signature.push_back(integerOf(operand, value));
            break;
        case Kind::real:
            signature.push_back(bitsOf(operand.width == 4 ? static_cast<double>(*static_cast<const float*>(value))
                                                          : *static_cast<const double*>(value)));
            break;
        case Kind::scalar: {
            const auto& scalar = *static_cast<const diopiScalar_t*>(value);
            signature.push_back(scalar.stype);
            signature.push_back(isFloating(scalar.stype) ? bitsOf(scalar.fval) : scalar.ival);
            break;
        }
        case Kind::sizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            signature.push_back(sizes.data == nullptr ? -1 - sizes.len : sizes.len);
            if (sizes.data != nullptr) {
                signature.insert(signature.end(), sizes.data, sizes.data + sizes.len);
            }
            break;
        }
        case Kind::text: {
            const char* const text = *static_cast<const char* const*>(value);
            const size_t length = text == nullptr ? 0 : std::strlen(text);
            signature.push_back(text == nullptr ? -1 : static_cast<int64_t>(length));
            signature.insert(signature.end(), text, text + length);
            break;
        }
        default:
            signature.push_back(*static_cast<void* const*>(value) == nullptr ? -1 : 1);
            break;
    }
}

void addOperand(const Operand& operand, Signature& signature, std::vector<Owned>& owned) {
    switch (operand.kind) {
        case Kind::tensor:
            addTensor(operand, operand.handle(), signature, owned);
            break;
        case Kind::tensors:
            signature.push_back(operand.handles() == nullptr ? -1 - operand.count : operand.count);
            for (int64_t i = 0; operand.handles() != nullptr && i < operand.count; ++i) {
                addTensor(operand, operand.handles()[i], signature, owned);
            }
            break;
        case Kind::made:
            signature.push_back(operand.handles() == nullptr ? -1 : 1);
            break;
        default:
            addPlain(operand, signature);
            break;
    }
}

// Results may be written over an operand, but not over a part of one.
std::optional<Failure> overlap(const std::vector<Owned>& owned) {
    for (const Owned& one : owned) {
        if (!one.operand->isWritten() || one.extent.bytes == 0 || !one.extent.isGapless) {
            continue;
        }
        for (const Owned& other : owned) {
            const Extent& a = one.extent;
            const Extent& b = other.extent;
            const bool meets = a.address < b.address + b.bytes && b.address < a.address + a.bytes;
            const bool isSame = a.address == b.address && a.bytes == b.bytes;
            if (b.bytes > 0 && b.isGapless && meets && !isSame) {
                return Failure(diopiErrorOccurred, "'" + std::string(one.operand->name) + "' and '" +
                                                       other.operand->name + "' share a part of their memory");
            }
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Failure> violation(const Entry& entry, diopiContextHandle_t ctx, Operands operands, bool readsElements) {
    const auto place = static_cast<size_t>(&entry - entries);
    static thread_local std::vector<Signature> validated(static_cast<size_t>(entryCount));
    static thread_local Signature signature;
    static thread_local std::vector<Owned> owned;  // their memory is kept from call to call
    const Contract& contract = contract::contracts[place];
    signature.clear();
    owned.clear();
    for (const Operand& operand : operands) {
        addOperand(operand, signature, owned);
    }
    if (readsElements || signature != validated[place]) {
        std::optional<Failure> found = Validation(contract, operands).run(ctx, readsElements);
        if (found) {
            return found;
        }
        validated[place] = signature;
    }
    return overlap(owned);
}

}  // namespace diopigen::dispatch
