"""The configurations of `make portability`, as data: a new one is one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT = "c++"
"""The compiler that CMake takes by itself."""
CPU_ONLY = "impl/cpu"
ALL_PARTS = (CPU_ONLY, "runtime/dispatch", "runtime/sim")


@dataclass(frozen=True, slots=True)
class Build:
    """A build of the CPU library: `options` are CMake's, `parts` the folders built with it, `libraries` what its
    version must name."""

    name: str
    options: tuple[str, ...] = ()
    compiler: str = DEFAULT
    parts: tuple[str, ...] = (CPU_ONLY,)
    libraries: frozenset[str] = frozenset()
    packages: bool = False
    """True if it takes libraries that are unpacked where the machine lacks them (builds.py)."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One row of the table. `environment` is added to that of the run; `flags` are what the processor must have, as
    /proc/cpuinfo names them. `probe` is a Python expression over the module `probes`, evaluated in the environment of
    the run; its text must begin with `effect`: a setting that nothing heeds would be no configuration. `emulated` is
    the command of an emulator, `executor` one that speaks the protocol of the suite; `sample` limits the cases of each
    function; where `tests` names tests, they are run instead of the suite. `aarch64` is what runs cross-compiled for
    64-bit ARM (aarch64.py): `suite`, `tests`, `sanitizers`, or `loops`, which are read for vectors. `shared`: part of
    what CI runs every time."""

    group: str
    name: str
    build: str = "onednn"
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    probe: str = ""
    effect: str = ""
    level: str | None = None
    emulated: str = ""
    executor: str = ""
    python: str = ""
    numpy: str = ""
    sample: int | None = None
    tests: tuple[str, ...] = ()
    aarch64: str = ""
    shared: bool = False

    @property
    def title(self) -> str:
        """Group and name: unique."""
        return f"{self.group}: {self.name}"


def _eight() -> tuple[Build, ...]:
    """With and without oneDNN, SLEEF and Highway. Without SLEEF vector math is that of glibc's libmvec."""
    builds = []
    for number in range(8):
        on = {name: bool(number & bit) for name, bit in (("oneDNN", 4), ("SLEEF", 2), ("Highway", 1))}
        name = "-".join(word.lower() for word, expected in on.items() if expected) or "bare"
        options = tuple(f"-DDIOPIGEN_{word.upper()}={'ON' if expected else 'OFF'}" for word, expected in on.items())
        libraries = frozenset(word for word, expected in on.items() if expected) | (
            set() if on["SLEEF"] else {"libmvec"}
        )
        builds.append(Build(name, options, libraries=libraries, packages=True))
    return tuple(builds)


EIGHT = _eight()
README = "onednn"
"""The build that the README's commands make on a machine that has nothing installed beyond what they need."""
_NOTHING = tuple(f"-DDIOPIGEN_{word}=OFF" for word in ("ONEDNN", "SLEEF", "LIBMVEC", "HIGHWAY"))
SCALAR = Build("scalar", _NOTHING, libraries=frozenset({"scalar"}))
_OWN = ("-DDIOPIGEN_SLEEF=OFF", "-DDIOPIGEN_HIGHWAY=OFF")
BUILDS: Mapping[str, Build] = {
    build.name: build
    for build in (
        *EIGHT,
        SCALAR,
        Build("gcc-12", _OWN, "g++-12", ALL_PARTS),
        Build("clang", _OWN, "clang++", ALL_PARTS),
    )
}

AVX2 = ("avx2", "fma", "bmi2")
AVX512 = (*AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl")
BF16 = (*AVX512, "avx512_bf16")

ONEDNN = tuple(
    Configuration(
        "oneDNN", level, environment={"ONEDNN_MAX_CPU_ISA": level}, flags=flags, probe=f"probes.onednn({level!r})",
        effect=level, shared=level in ("SSE41", "AVX512_CORE"),
    )
    for level, flags in (("SSE41", ()), ("AVX2", AVX2), ("AVX512_CORE", AVX512), ("AVX512_CORE_BF16", BF16))
)  # fmt: skip

# The cores that the OpenBLAS in NumPy's wheels has code for, and the names that it gives them: of others it takes the
# nearest that it has. The oracles are what they could change.
OPENBLAS = tuple(
    Configuration(
        "OpenBLAS", core, environment={"OPENBLAS_CORETYPE": core}, flags=flags, probe="probes.openblas()",
        effect=effect, shared=core in ("Prescott", "Haswell"),
    )
    for core, effect, flags in (
        ("Prescott", "katmai", ()), ("Nehalem", "nehalem", ()), ("Sandybridge", "sandybridge", ("avx",)),
        ("Haswell", "haswell", AVX2), ("Zen", "haswell", AVX2), ("SkylakeX", "skylakex", AVX512),
    )
)  # fmt: skip

_NO_VECTORS = "AVX512F,AVX512CD,AVX512_SKX,AVX512_CLX,AVX512_CNL,AVX512_ICL,AVX512_SPR,AVX2,FMA3,AVX,F16C,X86_V3,X86_V4"
NUMPY = (
    Configuration(
        "NumPy's loops", "without AVX", environment={"NPY_DISABLE_CPU_FEATURES": _NO_VECTORS}, flags=AVX2,
        probe="probes.numpy_has_avx2()", effect="False",
    ),
)  # fmt: skip

LIBM = (
    Configuration(
        "glibc's libm", "without AVX2 and FMA", environment={"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"},
        flags=AVX2, probe="probes.libm_is_fused()", effect="False", shared=True,
    ),
)  # fmt: skip

OURS = tuple(
    Configuration(
        "own loops", level, environment={"DIOPI_CPU_CAPABILITY": level}, flags=flags, level=level,
        shared=level in ("baseline", "avx2"),
    )
    for level, flags in (("baseline", ()), ("avx2", AVX2), ("avx512", AVX512))
)  # fmt: skip

LIBRARIES = tuple(
    Configuration("libraries", ", ".join(sorted(build.libraries)), build.name) for build in (*EIGHT, SCALAR)
)

EMULATED = tuple(
    Configuration(
        "qemu", model, emulated=f"qemu-x86_64 -cpu {model}", probe="probes.numpy_has_avx2()", effect=avx2,
        level=level, sample=3, shared=model == "Nehalem",
    )
    for model, avx2, level in (
        ("Nehalem", "False", "baseline"), ("Haswell", "True", "avx2"), ("EPYC", "True", "avx2"),
    )
)  # fmt: skip

AARCH64 = (
    Configuration("aarch64", "suite", aarch64="suite", sample=2),
    Configuration("aarch64", "loops that have vectors", aarch64="loops"),
    Configuration("aarch64", "C++ tests of the runtime and the simulated device", aarch64="tests"),
    Configuration("aarch64", "the same with the address and undefined behaviour sanitizers", aarch64="sanitizers"),
)

COMPILERS = tuple(Configuration("compiler", name, name) for name in ("gcc-12", "clang"))

UNIT_TESTS = ("tests/spec", "tests/ir", "tests/check", "tests/header", "tests/emit", "tests/output", "tests/chip")
_NUMPY_OF: Mapping[str, tuple[str, ...]] = {
    "3.10": ("1.26", "2.2"), "3.11": ("1.26", "2"), "3.12": ("1.26", "2"), "3.13": ("2",), "3.14": ("2",),
}  # fmt: skip
"""NumPy 1.26 has wheels up to Python 3.12; 2.2 is the last for 3.10. `2` is the newest."""
PYTHONS = tuple(
    Configuration(
        "Python", f"{python}, NumPy {numpy}: {what}", python=python, numpy=numpy, sample=3, tests=tests,
        probe="probes.versions()", effect=f"{python} {numpy}",
    )
    for python, numpys in _NUMPY_OF.items()
    for numpy in numpys
    for what, tests in (("suite", ()), ("unit tests", UNIT_TESTS))
)  # fmt: skip

CONFIGURATIONS: tuple[Configuration, ...] = (
    *LIBRARIES, *OURS, *ONEDNN, *OPENBLAS, *NUMPY, *LIBM, *COMPILERS, *EMULATED, *AARCH64, *PYTHONS,
)  # fmt: skip

SETTINGS = frozenset(name for one in CONFIGURATIONS for name in one.environment)
"""The environment variables that a configuration sets: the others run without them."""
