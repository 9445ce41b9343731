"""tools/check_words.py: what it finds, where, and what a waiver does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_words.py"


def check(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "text",
    [
        "a judge",
        "Judge",
        "judge_all()",
        "int judgeAll;",
        "class TheJudge:",
        "kJudged",
        "JUDGED_BY",
        "_judge",
        "v1Judge",
    ],
)
def test_a_word_is_found_in_prose_and_in_names(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"first line\n  {text}\n")
    done = check(path)
    column = 3 + text.lower().index("judge")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{path}:2:{column}: 'judge") and done.stdout.count("\n") == 1
    assert "use check" in done.stdout


@pytest.mark.parametrize("text", ["prejudge", "misjudged", "adjudge", "judgemental", "PREJUDGE", "workout"])
def test_a_part_of_another_word_is_not(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"{text}\n")
    done = check(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "text", ["worked out", "Worked out", "worked_out", "worked\nout", "worked\n    // out", "workedOut"]
)
def test_a_phrase_is_found_over_the_end_of_a_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "code.cpp"
    path.write_text(f"x {text}\n")
    done = check(path)
    assert done.stdout == f"{path}:1:3: 'worked out': use compute, derive or infer\n"


def test_a_waiver_holds_for_its_word_on_its_line(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text("judge  # words: allow judge\n")
    assert check(path).returncode == 0
    path.write_text("judged  # words: allow judge\njudge\n")
    found = [line.removeprefix(f"{path}:").split(":", 2)[:2] for line in check(path).stdout.splitlines()]
    assert found == [["1", "1"], ["1", "11"], ["2", "1"]]


def test_the_name_of_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "judging.py"
    path.write_text("")
    assert check(path).stdout == f"{path}: the file's name has 'judging'; use check, compare, validate or verify\n"


def test_files_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    done = check(tmp_path / "none.md")
    assert done.returncode == 2 and "No such file" in done.stderr


NAMES = """- {names: [place], paths: [code/], except: [code/other/], term: index}
- {words: [judge], term: check}
"""


def check_names(folder: Path, name: str, text: str, entries: str = NAMES) -> list[str]:
    """Lines and columns of the findings in a file of `folder`, with its own list."""
    (folder / "list.yaml").write_text(entries)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    command = [sys.executable, str(folder / "tools/check_words.py"), "--list", str(folder / "list.yaml"), name]
    (folder / "tools").mkdir(exist_ok=True)
    (folder / "tools/check_words.py").write_bytes(TOOL.read_bytes())
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [":".join(line.removeprefix(f"{name}:").split(":", 2)[:2]) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("code/a.py", "x = 1\nplace_of = x  # a place\n", ["2:1"]),
        ("code/a.py", 'text = f"place" + "place"\nlast = \'place\'\n"""A\nplace."""\n', []),
        ("code/a.py", "thePlace(in_place=True)  # words: allow place\n", []),
        ("code/a.cpp", '// a place\nint place = 1\'000; /* place\n */ f("place"); kPlace;\n', ["2:5", "3:18"]),
        ("code/a.cpp", "kInPlace, is_in_place, replace, placement\n", []),
        ("code/a.cpp", "judge()  // judge\n", ["1:1", "1:13"]),
        ("code/other/a.py", "place = 1\n", []),
        ("code/a.md", "place\n", []),
        ("a.py", "place = 1\n", []),
    ],
)
def test_a_word_of_names_is_found_in_identifiers_alone(name: str, text: str, found: list[str], tmp_path: Path) -> None:
    assert check_names(tmp_path, name, text) == found


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"""What it is."""\n', ["1:4"]),
        ('def f():\n    r"""\n    What"""\n    """Which."""\n', ["4:8"]),
        ('"""Whatever, what."""\nx = "What"\n', []),
    ],
)
def test_a_first_word_of_a_docstring(text: str, columns: list[str], tmp_path: Path) -> None:
    assert (
        check_names(tmp_path, "a.py", text, "- {docstrings: [What, Which], term: a verb, except: [b.py]}\n") == columns
    )
    assert check_names(tmp_path, "b.py", text, "- {docstrings: [What, Which], term: a verb, except: ['b*']}\n") == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("code/a.h", "/// What it is.\nint a;  // Which one\n", ["1:5", "2:12"]),
        ("code/a.cpp", "// Whatever is what.\nauto text = 1;\n", []),
        ("code/a.py", "# What\n", []),
        ("a.cpp", "// What\n", []),
    ],
)
def test_a_first_word_of_a_comment_of_cpp(name: str, text: str, found: list[str], tmp_path: Path) -> None:
    entry = "- {comments: [What, Which], paths: [code/], term: a verb}\n"
    assert check_names(tmp_path, name, text, entry) == found


def test_words_of_added_lines_count_with_staged_alone(tmp_path: Path) -> None:
    """The line that was committed before passes, and so does the added one without `--staged`."""
    entry = "- {added: [so far], term: until then}\n"
    (tmp_path / "a.md").write_text("so far\n")
    for command in (
        ["init", "-q"],
        ["add", "a.md"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert check_names(tmp_path, "a.md", "so far\nnone so far\n", entry) == []
    subprocess.run(["git", "add", "a.md"], cwd=tmp_path, check=True)
    command = [sys.executable, "tools/check_words.py", "--list", "list.yaml", "--staged"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "a.md:2:6: 'so far': use until then\n")


@pytest.mark.parametrize(
    "entry",
    [
        "{names: [a], term: b}",
        "{comments: [a], term: b}",
        "{words: [a], names: [b], paths: [c], term: d}",
        "{words: a, term: b}",
        "a",
    ],
)
def test_a_list_that_is_none_is_an_error(entry: str, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(f"- {entry}\n")
    command = [sys.executable, str(TOOL), "--list", str(tmp_path / "list.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "entry 1 is neither" in done.stderr
