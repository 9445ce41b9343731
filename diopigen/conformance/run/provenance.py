"""Origin of results: versions, the machine, the state of the sources; and signatures of reports by keys of SSH."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from diopigen import __version__
from diopigen.conformance.run.identity import library_digest
from diopigen.diagnostics import Span, failure

NAMESPACE = "diopigen-report"
"""Purpose of the signatures: one of SSH for another purpose does not count."""
_CODE = "report-unsigned"


def provenance(runtime: Path, spec: Path) -> dict[str, str]:
    """Facts of a run that its outcomes may depend on: the digest of the host runtime, versions, machine and kernel, the
    commit of the sources where they are in a repository of git, and the time in UTC."""
    facts = {
        "diopigen": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "source": _commit(spec),
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if runtime.is_file():
        facts["runtime"] = library_digest(runtime)
    return {name: text for name, text in facts.items() if text}


def _commit(folder: Path) -> str:
    """The commit of a folder, with the word `dirty` where it has changed since; empty without git."""
    try:
        command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def sign(report: Path, key: Path) -> Path:
    """Signs a report with a private key of SSH; the signature is REPORT.sig. Raises `Failure`."""
    signature = report.with_name(report.name + ".sig")
    signature.unlink(missing_ok=True)
    _ssh_keygen(["-Y", "sign", "-q", "-n", NAMESPACE, "-f", str(key), str(report)], key)
    return signature


def check_signature(report: Path, signers: Path | None, identity: str) -> str:
    """Checks REPORT.sig. With `signers`, a file of allowed signers (ssh-keygen(1)), the key must be the one of
    `identity`; without, only that the report is the one that was signed. Returns what was shown. Raises `Failure`."""
    signature = report.with_name(report.name + ".sig")
    if not signature.is_file():
        fix = "sign it with --output sign=KEY, or verify without --signers"
        raise failure(_CODE, "has no signature", Span(str(report)), fix)
    how = ["-Y", "check-novalidate"] if signers is None else ["-Y", "verify", "-f", str(signers), "-I", identity]
    return _ssh_keygen([*how, "-n", NAMESPACE, "-s", str(signature)], report, report.read_bytes())


def _ssh_keygen(words: list[str], about: Path, text: bytes | None = None) -> str:
    try:
        done = subprocess.run(["ssh-keygen", *words], input=text, capture_output=True, check=False)
    except OSError as error:
        raise failure(_CODE, f"ssh-keygen: {error.strerror}", fix="install OpenSSH") from None
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode != 0:
        raise failure(_CODE, said.splitlines()[-1] if said else "ssh-keygen fails", Span(str(about)))
    return said


def same_facts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The facts that differ, but for the time."""
    names = [name for name in before if name != "time" and name in now]
    return [f"{name} was {before[name]}, and is {now[name]}" for name in names if before[name] != now[name]]
