"""The words of the frame of every page, in English and Chinese. The browser switches; the text of the spec stays."""

from __future__ import annotations

import json
from collections.abc import Mapping

from markupsafe import Markup

LABELS: Mapping[str, tuple[str, str]] = {
    "title": ("DIOPI operator reference", "DIOPI 算子参考"),
    "skip": ("Skip to the content", "跳到正文"),
    "search": ("Search operators", "搜索算子"),
    "search-hint": ("Name, ATen overload, family or parameter", "名称、ATen 重载、算子族或参数"),
    "no-result": ("Nothing found", "没有结果"),
    "menu": ("Menu", "菜单"),
    "theme": ("Dark or light", "深色或浅色"),
    "language": ("中文", "English"),
    "home": ("Overview", "总览"),
    "families": ("Families", "算子族"),
    "family": ("Family", "算子族"),
    "operators": ("Operators", "算子"),
    "operator": ("Operator", "算子"),
    "functions": ("Functions", "函数"),
    "documents": ("Documents", "文档"),
    "rules": ("Rules", "规则"),
    "rule": ("Rule", "规则"),
    "types": ("Types", "类型"),
    "models": ("Models", "模型"),
    "model": ("Model", "模型"),
    "changes": ("Changes", "变更"),
    "on-this-page": ("On this page", "本页内容"),
    "signature": ("Signatures", "函数签名"),
    "parameters": ("Parameters", "参数"),
    "parameter": ("Parameter", "参数"),
    "direction": ("Direction", "方向"),
    "type": ("Type", "类型"),
    "dtypes": ("Dtypes", "数据类型"),
    "dtype": ("Dtype", "数据类型"),
    "shape": ("Shape", "形状"),
    "default": ("Default", "默认值"),
    "nullable": ("Null", "可为空"),
    "yes": ("yes", "是"),
    "description": ("Description", "说明"),
    "contract": ("Contract", "约束"),
    "contract-text": (
        "What a caller must satisfy; a violation returns the status.",
        "调用者必须满足的条件；违反时返回所列状态。",
    ),
    "no-constraints": (
        "Nothing beyond the types, dtypes and shapes above.",
        "除上述类型、数据类型和形状外没有其他约束。",
    ),
    "id": ("Id", "编号"),
    "predicate": ("Predicate", "谓词"),
    "note": ("Note", "说明"),
    "status": ("Status", "状态"),
    "checked-by": ("Checked by", "检查者"),
    "unspecified": ("What is unspecified", "未规定的行为"),
    "formula": ("Formula", "公式"),
    "gradient-of": ("Gradient of", "反向算子，对应"),
    "has-gradient": ("Gradient", "反向算子"),
    "aten": ("ATen overloads", "ATen 重载"),
    "example": ("Example", "示例"),
    "code": ("Code", "代码"),
    "table": ("Table", "表格"),
    "example-text": (
        "Both make the same call. The values satisfy the contract and otherwise mean nothing.",
        "两段代码的调用相同。数值只是为了满足约束，没有其他含义。",
    ),
    "variants": ("Variants", "变体"),
    "variant-text": ("Parameters and contract of this variant", "此变体的参数与约束"),
    "used-by": ("Models that call it", "调用它的模型"),
    "calls": ("Calls", "调用次数"),
    "phase": ("Phase", "阶段"),
    "arguments": ("Arguments", "实参"),
    "function": ("Function", "函数"),
    "conformance": ("Conformance", "一致性测试"),
    "cases": ("Cases", "用例"),
    "axis": ("Axis", "维度"),
    "oracle": ("Oracle", "参考结果来源"),
    "tolerance": ("Tolerance", "容差"),
    "vendors": ("Vendors", "厂商"),
    "vendor": ("Vendor", "厂商"),
    "facts": ("Facts", "基本信息"),
    "header": ("Header", "头文件"),
    "since": ("Since", "起始版本"),
    "deprecated": ("Deprecated", "已弃用"),
    "draft": ("Draft", "草案"),
    "source": ("Source", "依据"),
    "specified": ("Specified in", "规范位置"),
    "returns": ("Returns", "返回"),
    "enums": ("Enums", "枚举"),
    "structs": ("Structs", "结构体"),
    "handles": ("Handles", "句柄"),
    "sets": ("Dtype sets", "数据类型集合"),
    "value": ("Value", "值"),
    "name": ("Name", "名称"),
    "purpose": ("Purpose", "用途"),
    "breaks-binaries": ("Breaks binaries", "破坏二进制兼容"),
    "breaks-sources": ("Breaks sources", "破坏源码兼容"),
    "breaks-nothing": ("Breaks nothing", "不破坏兼容"),
    "compared-with": ("Compared with", "对比版本"),
    "none": ("none", "无"),
    "version": ("Interface version", "接口版本"),
    "made": ("Generated from the spec by", "由规范生成，命令："),
}


def label(name: str) -> Markup:
    """A word of the frame as HTML: English until the browser switches it."""
    return Markup('<span data-t="{}">{}</span>').format(name, LABELS[name][0])


def text(name: str) -> str:
    """The English word alone, for attributes and titles."""
    return LABELS[name][0]


def scrolls(name: str) -> Markup:
    """The attributes of a box that scrolls by itself: the keyboard reaches it, and it has a name."""
    attributes = 'tabindex="0" role="group" aria-label="{}" data-t-aria-label="{}"'
    return Markup(attributes).format(LABELS[name][0], name)


def script() -> bytes:
    """The Chinese words as a script, which a page that was opened from a file can load."""
    words = {name: chinese for name, (_, chinese) in LABELS.items()}
    return f"window.DIOPI_LABELS = {json.dumps(words, ensure_ascii=False, indent=1)};\n".encode()
