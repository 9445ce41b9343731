"""`build/serving/bin/python -m benchmarks.serving`: tokens per second of a tiny Llama by vLLM, and the time to first
tokens, in three ways.

- `functions`: the plugin as it is, on droplet
- `torch`: the same plugin with functions composed of PyTorch's operators for the CPU, and all other operators on the
  CPU as well
- `transformers`: `generate` of transformers on the CPU, all requests in one batch

Needs what `make test-serving` builds. Each way runs in a process of its own, and a row is the best of some rounds. The
time to first tokens is that until every request has one. Of the first way also the share of the time that kernels take
is shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks import machine

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/serving"), str(ROOT / "tools")]
REQUESTS = (1, 8, 64)
TOKENS = 32
ROUNDS = 3
WAYS = ("functions", "torch", "transformers")


def prompts(count: int) -> list[list[int]]:
    return [[(5 * index + 3 * number) % 256 for index in range(8)] for number in range(count)]


Generate = Callable[[list[list[int]], int], Any]
"""Generates a number of tokens for each prompt."""


def fastest(generate: Generate, count: int, tokens: int) -> float:
    """Seconds of the fastest of some rounds, after one that is not counted."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        generate(prompts(count), tokens)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def best(generate: Generate) -> dict[str, dict[str, float]]:
    """Tokens per second, and seconds to the first token, by the number of requests."""
    return {
        "rates": {str(count): count * TOKENS / fastest(generate, count, TOKENS) for count in REQUESTS},
        "first": {str(count): fastest(generate, count, 1) for count in REQUESTS},
    }


def measured(way: str, folder: Path) -> dict[str, Any]:
    import tiny_models
    import torch

    torch.set_num_threads(1)  # tiny models: more threads wait for each other
    if way == "transformers":
        model = tiny_models.load(folder)
        model.generation_config.eos_token_id = None  # the end of a text is a token like others

        def generate(batch: list[list[int]], count: int) -> Any:
            ids = torch.tensor(batch)
            with torch.no_grad():
                return model.generate(
                    ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0, max_new_tokens=count
                )

        return {**best(generate), "tokens": generate(prompts(2), TOKENS)[:, len(prompts(1)[0]) :].tolist()}

    from diopi_torch.package import force_fallback
    from vllm import LLM, SamplingParams

    llm = LLM(
        str(folder),
        dtype="float32",
        skip_tokenizer_init=True,
        max_model_len=128,
        max_num_seqs=64,
        kv_cache_memory_bytes=8 << 20,
        enable_prefix_caching=False,
    )
    context: AbstractContextManager[Any] = nullcontext()
    if way == "torch":
        from benchmarks.serving import composed

        composed.install()
        context = force_fallback(".*")

    def serve(batch: list[list[int]], count: int) -> Any:
        sampling = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, detokenize=False)
        return llm.generate([{"prompt_token_ids": one} for one in batch], sampling, use_tqdm=False)

    with context:
        results: dict[str, Any] = best(serve)
        results["tokens"] = [list(one.outputs[0].token_ids) for one in serve(prompts(2), TOKENS)]
    if way == "functions":
        results["kernels"] = {str(count): share_of_kernels(serve, count) for count in REQUESTS}
    return results


def share_of_kernels(serve: Generate, count: int) -> float:
    """The share of the time that the device's kernels take, by the records of PyTorch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    start = time.perf_counter()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiler:
        serve(prompts(count), TOKENS)
        seconds = time.perf_counter() - start
    busy = sum(one.self_device_time_total for one in profiler.key_averages())
    return float(busy) / 1e6 / seconds


def main() -> None:
    from torch_build import Backend, given

    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]))))
        return
    built = ROOT / "build/tests/plain"
    names = ("droplet/clean/libtorch_droplet.so", "droplet/clean/libdiopi_impl.so", "libdiopi_impl.so")
    backend = given() or Backend(*(built / name for name in names))
    quiet = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    package = {"PYTHONPATH": str(Path(sys.prefix) / "droplet")}  # tools/install_serving.py
    os.environ.update({**backend.environment(), **package, **quiet, "VLLM_LOGGING_LEVEL": "ERROR"})
    import tiny_models

    print(machine.describe())
    print(f"tokens per second, {TOKENS} for each request, and milliseconds to the first tokens, best of {ROUNDS}")
    print(f"{'requests':14}" + "".join(f"{count:>10}" for count in REQUESTS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "llama"
        tiny_models.save("llama", folder)
        tokens: list[Any] = []
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.serving", way, str(folder)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr[-3000:])
            results = json.loads(done.stdout.splitlines()[-1])
            tokens.append(results["tokens"])
            rows = [(way, results["rates"], "10.0f"), ("  first, ms", results["first"], "10.1f")]
            if "kernels" in results:
                rows.append(("  in kernels", results["kernels"], "10.0%"))
            for title, row, form in rows:
                factor = 1000 if title.endswith("ms") else 1
                print(f"{title:14}" + "".join(format(row[str(n)] * factor, form) for n in REQUESTS), flush=True)
    if tokens.count(tokens[0]) != len(WAYS):
        sys.exit("the tokens differ: the rates are not of the same work")


if __name__ == "__main__":
    main()
