"""The elementwise operators of the CPU library, from their kernels: the loops, and the kernels that run them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity
from diopigen.emit.c_text import COLUMNS, wrapped
from diopigen.emit.cpp_lines import Statement, fit
from diopigen.emit.cpp_text import CPU, Backend, Printed, UnsupportedExpressionError
from diopigen.emit.cpu.call import INDENT, Body
from diopigen.emit.cpu.kernels import Group, groups, parameters
from diopigen.emit.element_expression import Constant, ElementPrinter
from diopigen.emit.entry.functions import arguments_name, kernel_name
from diopigen.emit.host_expression import HostPrinter
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.model import Function, Interface
from diopigen.spec.expression import Call, Expression, Name, Unary, to_text

TARGET = "cpu"

RULES = {
    "kernel-inexpressible": "The C++ printer can say every kernel that is not left to hand code.",
}

_ACCESS = {"element": "constant<T>", "bool": "flag", "integer": "integer"}
_LETTERS = {"element": "e", "bool": "t", "real": "r", "pair": "p"}


@dataclass(frozen=True, slots=True)
class Form:
    """Spelling of loops in a library, and of the functions that run them."""

    target: str
    suffix: str
    """Of the emitted files."""
    header: str
    """Declarations of the calls of loops."""
    backend: Backend
    source: str
    """Arguments of a loop."""
    input_line: str
    output_line: str
    coordinate_type: str
    call_type: str
    """The class of a call, and the table of loops that it runs."""
    table: str
    list_type: str = ""
    """The class that collects the calls of a list to launch them together; without one, each runs by itself."""
    has_halves: bool = False
    """Instantiates loops for halves themselves where only signs change."""

    def types(self, bool_type: str = "Bool") -> dict[str, str]:
        """The C++ types by kind; bools have another one in memory than in an expression."""
        return {"element": "T", "real": "Real<T>", "bool": bool_type, "pair": self.backend.pair, "integer": "int64_t"}


FORM = Form(
    TARGET,
    ".cpp",
    "diopi_core/elementwise.h",
    CPU,
    "block",
    "const {type}* {name} = block.input<{type}>({k});",
    "{type}* {name} = block.output<{type}>({k});",
    "Coordinate",
    "Elementwise",
    "loops",
    has_halves=True,
)


@dataclass(frozen=True, slots=True)
class LoopText:
    """The text of a loop, and what its functions hand to it."""

    comment: list[str]
    name: str
    before: list[str]
    inside: list[str]
    set_text: str
    constants: tuple[Constant, ...]
    results: tuple[str, ...]
    signature: str
    """The operands by kind: inputs, `>`, outputs; a letter each."""
    copied: str = ""
    """The operand that the result is a copy of, where the kernel says no more: then there is no loop."""


def loop_text(group: Group, form: Form = FORM) -> LoopText:
    """The loop of a group. Raises `UnsupportedExpressionError`."""
    kernel = group.kernel
    backend, subscript, types = form.backend, form.backend.subscript, form.types()
    printer = ElementPrinter(
        backend,
        HostPrinter(backend, parameters(group.functions), {}),
        group.arrays,
        has_complex=group.has_complex,
        taken={*group.arrays, *(name for name, _ in kernel.lets)},
    )
    statements: list[Statement] = []
    for name, formula in kernel.lets:
        statements.append(Statement(name, formula.expression))
        printer.lets[name] = fit(statements, printer, len(statements) - 1, 16)
    several = len(kernel.results) > 1
    names = [f"{name}_out" if name in group.arrays else name for name, _ in kernel.results]
    printed: list[Printed] = []
    for name, (_, formula) in zip(names, kernel.results, strict=True):
        local = f"{name}_value" if several else ""
        statements.append(Statement(local or name + subscript, formula.expression, is_store=not several))
        kind = fit(statements, printer, len(statements) - 1, 16)
        value = statements[-1].printed
        if value is not None and kind == "element" and any(value.text == one.name for one in printer.constants):
            statements[-1].printed = Printed(f"copy_of({value.text})", kind)
        printed.append(Printed(local, kind))
    results = tuple("element" if value.kind == "integer" else value.kind for value in printed)
    lines = [statement.line(form.types("bool")) for statement in statements]
    inside = [line for line in lines if line]
    if several:
        inside += [f"{name}{subscript} = {value.text};" for name, value in zip(names, printed, strict=True)]
    before = []
    for k, (name, kind) in enumerate(group.arrays.items()):
        c_type = "Bool" if kind == "bool" else "T"
        before.append(form.input_line.format(type=c_type, name=name, k=k))
    for k, (name, kind) in enumerate(zip(names, results, strict=True)):
        before.append(form.output_line.format(type=types[kind], name=name, k=k))
    before += _constant_lines(printer.constants, form)
    for name, source in printer.coordinates.items():
        before.append(f"const {form.coordinate_type} {name} = {source};")
    lines = [f"{name} = {to_text(f.expression)}" for name, f in (*kernel.lets, *kernel.results)]
    comment = [part for line in lines for part in wrapped(line, "// ", "//     ")]
    expression = kernel.results[0][1].expression
    copied = expression.name if isinstance(expression, Name) and not several and expression.name in group.arrays else ""
    halves = ("float16", "bfloat16") if form.has_halves and not several and _changes_signs(expression, group) else ()
    set_text = _set_text((*group.dtypes, *halves))
    signature = "".join(_LETTERS[kind] for kind in group.arrays.values())
    signature += ">" + "".join(_LETTERS[kind] for kind in results)
    return LoopText(comment, group.name, before, inside, set_text, tuple(printer.constants), results, signature, copied)


def _changes_signs(expression: Expression, group: Group) -> bool:
    """Returns whether the result has the bits of an operand but for the sign, so that a half needs no conversion."""
    if isinstance(expression, Unary):
        return expression.operator == "-" and _changes_signs(expression.operand, group)
    if isinstance(expression, Call):
        return expression.function == "abs" and _changes_signs(expression.arguments[0], group)
    return isinstance(expression, Name) and group.arrays.get(expression.name) == "element"


def _constant_lines(constants: list[Constant], form: Form) -> list[str]:
    """The constants of a loop; remarks on neighbouring lines are aligned."""
    lines = [
        f"const {form.types('bool')[constant.kind]} {constant.name} = {form.source}.{_ACCESS[constant.kind]}({k});"
        for k, constant in enumerate(constants)
    ]
    remarks = [
        "" if constant.name == to_text(constant.expression) else to_text(constant.expression) for constant in constants
    ]
    for start in range(len(lines)):
        end = start
        while end < len(lines) and remarks[end] and (start == 0 or not remarks[start - 1]):
            end += 1
        column = max((len(line) for line in lines[start:end]), default=0)
        for k in range(start, end):
            lines[k] = f"{lines[k]:<{column}}  // {remarks[k]}"
    return lines


def _set_text(dtypes: tuple[str, ...]) -> str:
    """The dtypes as a constant expression, with the names of sets where they fit."""
    integral = ("uint8", "int8", "int16", "int32", "int64")
    left = list(dtypes)
    words = []
    if "bool" in left:
        words.append("kBool")
        left.remove("bool")
    floating = ("float16", "bfloat16", "float32", "float64")
    for name, members in (("kIntegral", integral), ("kComplex", ("complex64", "complex128")), ("kFloating", floating)):
        if set(members) <= set(left):
            words.append(name)
            left = [dtype for dtype in left if dtype not in members]
    words += [f"k{dtype.capitalize()}" for dtype in left]
    return " | ".join(words)


def kernel_text(group: Group, loop: LoopText, function: Function, form: Form = FORM) -> str:
    """The definition of the kernel behind a function."""
    body = Body(group, function, loop.constants, loop.results, form.call_type)
    lines = body.lines()
    collects = body.is_list and form.list_type
    table = f"list_{form.table}" if collects else form.table
    more = ", list" if collects else ""
    run = [f"{INDENT}call.run({table}<{loop.name}Loop, {loop.set_text}>(){more});"]
    if len(run[0]) > COLUMNS - 4:
        run = [
            f"{INDENT}constexpr DtypeSet kSet = {loop.set_text};",
            f"{INDENT}call.run({table}<{loop.name}Loop, kSet>(){more});",
        ]
    if loop.copied:
        run = [f"{INDENT}copy_elements({body.value(body.written[0])}, {body.value(loop.copied)});"]
        lines = []
    lines += run
    if body.is_list:
        lines = _over_list(function, lines)
        if collects:
            lines = [f"{INDENT}{form.list_type} list;", *lines, f"{INDENT}list.launch();"]
    head = f"void {kernel_name(function)}(const {arguments_name(function)}& args) {{"
    short = f"{head} {lines[0].strip()} }}"
    return short if len(lines) == 1 and len(short) <= COLUMNS else "\n".join([head, *lines, "}"])


def _over_list(function: Function, lines: list[str]) -> list[str]:
    """A kernel over lists of tensors: one call for each member."""
    first = next(param.name for param in function.params if param.type == "tensors")
    return [
        f"{INDENT}for (size_t k = 0; k < args.{first}.size(); ++k) {{",
        *("\n".join(f"{INDENT}{part}" for part in line.split("\n")) for line in lines),
        f"{INDENT}}}",
    ]


def emit(interface: Interface, templates: Path) -> Plan:
    """`cpu/<family>.cpp`. Raises `Failure` where a kernel cannot be printed."""
    return Plan(elementwise_files(interface, templates, FORM))


def elementwise_files(interface: Interface, templates: Path, form: Form) -> tuple[PlannedFile, ...]:
    """`<target>/<family>`. Raises `Failure` where a kernel cannot be printed."""
    template = f"{form.target}/elementwise{form.suffix}.j2"
    families: dict[str, list[tuple[Group, LoopText, list[str]]]] = {}
    problems: list[Diagnostic] = []
    for group in groups(interface):
        try:
            loop = loop_text(group, form)
            kernels = [kernel_text(group, loop, function, form) for function in group.functions]
            families.setdefault(group.functions[0].family, []).append((group, loop, kernels))
        except UnsupportedExpressionError as error:
            problems.append(
                Diagnostic(
                    "kernel-inexpressible",
                    Severity.ERROR,
                    f"{group.functions[0].name}: no C++ for {error}",
                    group.kernel.span,
                    fix="write the kernel by hand, and the reason in 'by_hand' of the entry",
                )
            )
    if problems:
        raise Failure(*problems)
    files = []
    for family, found in families.items():
        functions = [function for group, _, _ in found for function in group.functions]
        sources = spec_files(interface, functions)
        library = ["dense.h"] if any(loop.copied for _, loop, _ in found) else []
        includes = [form.header, *(f"diopi_core/{name}" for name in library)]
        is_main = form.suffix == ".cpp"  # the file is named as the header
        values = {
            "family": family,
            "main": [f"{family}.h"] if is_main else [],
            "includes": sorted(includes if is_main else [*includes, f"{family}.h"]),
            "sources": sorted(sources),
            "loops": [loop for _, loop, _ in found if not loop.copied],
            "kernels": [kernel for _, _, kernels in found for kernel in kernels],
        }
        content = render(templates, template, values)
        inputs = (*sorted(sources), "specs/types.yaml", f"templates/{template}")
        name = f"{form.target}/{family}{form.suffix}"
        files.append(PlannedFile(name, content, inputs, form.target))
    return tuple(files)
