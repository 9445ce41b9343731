"""The C++ of an operator of the namespace `diopi`: its schema, what makes its results, and what calls the function."""

from __future__ import annotations

from collections.abc import Sequence

from diopigen.contract.dtypes import FLOAT8
from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.escaping import c_string
from diopigen.emit.torch.arguments import dtype_set
from diopigen.emit.torch.custom import NUMBERS, Argument, Custom, Result
from diopigen.emit.torch.custom_shapes import dtype_of
from diopigen.ir.model import DtypeList, Function, Parameter
from diopigen.spec.expression import Name, walk

_INDENT = "    "


def _returned(custom: Custom) -> str:
    kinds = ["at::Tensor"] * len(custom.results)
    if not kinds:
        return "void"
    return kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"


def _lines(head: str, items: Sequence[str], tail: str, depth: int = 2) -> list[str]:
    text = call_lines(head, items, tail, COLUMNS - 4 * depth)
    return [_INDENT * depth + line for line in text.split("\n")]


def _assigned(head: str, function: str, items: Sequence[str]) -> list[str]:
    """`head = function(items);`, broken behind the sign where that leaves one line for the call."""
    columns = COLUMNS - 8
    behind = call_lines(f"{head} = {function}", items, ";", columns).split("\n")
    below = [f"{head} =", *(f"    {line}" for line in call_lines(function, items, ";", columns - 4).split("\n"))]
    return below if 1 < len(behind) >= len(below) else behind


def _dimensions(custom: Custom) -> list[str]:
    return [f"const c10::SymInt {name} = {source};" for name, source in custom.dimensions.items()]


def _created(position: int, result: Result) -> list[str]:
    maker = "make_zeros" if result.zeros else "make_empty"
    return _assigned(f"at::Tensor result_{position}", maker, [result.like, result.dtype, result.sizes or ""])


def _make(custom: Custom) -> list[str]:
    """The results, of the sizes that the rules say."""
    head = f"static {_returned(custom)} make"
    items = [f"{a.meta} {a.name}" for a in custom.arguments]
    if not custom.results:
        opened, empty = _lines(head, items, " {", 1), _lines(head, items, " {}", 1)
        # clang-format rather puts the second brace on a line of its own than the last argument.
        return empty if len(empty) == len(opened) else [*opened, f"{_INDENT}}}"]
    body = _dimensions(custom)
    for position, result in enumerate(custom.results):
        body += _created(position, result)
    names = [f"result_{n}" for n in range(len(custom.results))]
    body.append("return result_0;" if len(names) == 1 else f"return {{{', '.join(names)}}};")
    return [*_lines(head, items, " {", 1), *(_INDENT * 2 + line for line in body), f"{_INDENT}}}"]


def _may_be_float8(function: Function, param: Parameter) -> bool:
    """True if the list or the rule of a tensor's dtype, or of another that it names, has a dtype of one byte."""
    if isinstance(param.dtype, DtypeList):
        return not FLOAT8.isdisjoint(param.dtype.dtypes)
    named = (
        {one.name for one in walk(param.dtype.formula.expression) if isinstance(one, Name)} if param.dtype else set()
    )
    others = [one for one in function.params if one.name in named]
    return not FLOAT8.isdisjoint(named) or any(_may_be_float8(function, one) for one in others)


def _mask(function: Function, param: Parameter) -> str:
    """The argument with the dtypes of a tensor. Most have the default set, and the library checks them."""
    if not _may_be_float8(function, param):
        return ""
    return f", {dtype_set(param.dtype) if isinstance(param.dtype, DtypeList) else 'kAnyDtype | kFloat8'}"


def _declared(function: Function, one: Argument) -> tuple[list[str], str]:
    """Statements that prepare an argument, and the expression for it."""
    param, name = one.param, one.name
    if param.type == "tensors":
        if param.is_written:
            return [f"OutputList {name}_written({name});"], f"{name}_written.data()"
        return [f"InputList {name}_read(call, {name});"], f"{name}_read.data()"
    if param.type == "tensor" and param.is_written:
        return [f"const Written {name}_written(call, {name});"], f"{name}_written"
    if param.type == "tensor":
        kind = "OptionalInput" if param.nullable else "Input"
        word = f"{name}_read"
        mask = _mask(function, param)
        return [f"const {kind} {word}(call, {name}{mask});"], f"mutable_of({word})" if param.mutable else word
    if param.type == "sizes":
        return [], f"OptionalSizes({name})" if param.nullable else f"array_of({name})"
    if param.type == "scalar":
        return [], f"Number({name})"
    if param.type == "generator":
        return [], f"call.generator({name})"
    if param.type == "string":
        return [], f"std::string({name}).c_str()"
    if param.type == "diopiReduction_t":
        return [], f"reduction_of({name})"
    if param.type == "diopiRoundMode_t":
        return [], f"static_cast<diopiRoundMode_t>({name})"
    return [], f"Optional<{NUMBERS[param.type]}>({name})" if param.nullable else name


def _run(custom: Custom) -> list[str]:
    """The call."""
    function = custom.function
    lines = _lines(f"static {_returned(custom)} run", [f"{a.kernel} {a.name}" for a in custom.arguments], " {", 1)
    body: list[str] = []
    device = next((one for one in custom.arguments if one.param.type == "tensor" and not one.param.nullable), None)
    if device is not None:
        body.append(f"Call call({device.name});")
    else:
        lists = next(one for one in custom.arguments if one.param.type in ("tensor", "tensors"))
        body.append(f"Call call(first_of({lists.name}));")
    words: dict[str, str] = {}
    names = [f"result_{n}" for n in range(len(custom.results))]
    created = [n for n, result in enumerate(custom.results) if result.sizes is not None]
    if custom.is_shaped and names:
        passed = [one.name for one in custom.arguments]
        head = "at::Tensor result_0" if len(names) == 1 else f"auto [{', '.join(names)}]"
        body += _assigned(head, "make", passed)
    else:
        body += _dimensions(custom) if created else []
        for n in created:
            body += _created(n, custom.results[n])
    returned = []
    position = 0
    for result in dict.fromkeys(custom.results):
        param = result.param
        if param.type == "new_tensors":
            body.append(f"AllocatedList<{param.count}> {param.name}_made;")
            words[param.name] = f"{param.name}_made.data()"
            count = int(str(param.count))
            returned += [f"{param.name}_made.tensor({n})" for n in range(count)]
            position += count
            continue
        if param.type == "new_tensor":
            body.append(f"const Allocated {param.name}_made;")
            words[param.name] = f"{param.name}_made"
            returned.append(f"{param.name}_made.tensor()")
        else:
            words[param.name] = f"handle(result_{position})"
            returned.append(f"result_{position}")
        position += 1
    for one in custom.arguments:
        before, words[one.name] = _declared(function, one)
        body += before
    for param in custom.scratch:
        like, dtype = dtype_of(function, param)
        body.append(f"at::Tensor {param.name} = make_empty({like}, {dtype}, Sizes{{0}});")
        words[param.name] = f"handle({param.name})"
    for param in function.params:
        if isinstance(param.count, str) and param.name in words:
            words.setdefault(param.count, words[param.name].removesuffix(".data()") + ".size()")
    items = [f'"{function.name}"', function.name, *(words[param.name] for param in function.params)]
    body += call_lines("call", items, ";", COLUMNS - 8).split("\n")
    if len(returned) == 1:
        body.append(f"return {returned[0]};")
    elif returned:
        body += _braced(returned)
    return [*lines, *(_INDENT * 2 + line for line in body), f"{_INDENT}}}"]


def _braced(items: Sequence[str]) -> list[str]:
    one = f"return {{{', '.join(items)}}};"
    if len(one) <= COLUMNS - 8:
        return [one]
    lines = call_lines("return ", items, ";", COLUMNS - 8).split("\n")
    return [line.replace("return (", "return {", 1).replace(");", "};") for line in lines]


def class_text(custom: Custom) -> str:
    """The class of an operator: what makes its results, and what runs it."""
    head = [f"// {custom.function.name}.", f"struct {custom.function.short_name} {{"]
    body = _run(custom)
    if custom.is_shaped:
        body = [*_make(custom), "", *body]
    return "\n".join([*head, *body, "};"])


def definition(custom: Custom) -> list[str]:
    """The line that defines the schema."""
    one = f"library.def({c_string(custom.schema)});"
    if len(one) + 4 <= COLUMNS:
        return [one]
    pieces: list[str] = []
    for word in custom.schema.split(" "):
        escaped = c_string(word)[1:-1]
        if pieces and len(pieces[-1]) + len(escaped) + 1 <= COLUMNS - 16:
            pieces[-1] += f" {escaped}"
        else:
            if pieces:
                pieces[-1] += " "
            pieces.append(escaped)
    return ["library.def(", *(f'    "{piece}"' for piece in pieces[:-1]), f'    "{pieces[-1]}");']
