"""Serves rounds of requests with offline engines, each in a process of its own, forked before the device is used.

Reads lines with the names of three files, of a job, of its results and of what the engine prints; prints the exit
status of each. vLLM is imported once, which takes longer than serving a tiny model.

The job has `model` (a folder), `engine` (arguments of `vllm.LLM`) and `rounds`; a round has `prompts` (lists of tokens)
and `sampling` (arguments of `SamplingParams`, for all prompts or a list of one for each); before it the engine may
sleep (`sleep`, a level) and wake up, or load the weights of another folder (`reload`). The results have the tokens and
logarithms of probabilities of each round, its calls that ran on the host, by operator, and of a sleep the bytes that
were allocated before, meanwhile and afterwards, and those of the caches; also how many graphs the compiler made, how
many were captured, and how often these were replayed.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any
from unittest import mock


def serve(job: dict[str, Any]) -> dict[str, Any]:
    from diopi_torch.package import device, fallback_report, reset_fallback_report
    from vllm import LLM, SamplingParams
    from vllm.lora.request import LoRARequest
    from vllm.platforms import current_platform
    from vllm.sampling_params import StructuredOutputsParams

    def sampling(values: dict[str, Any]) -> Any:
        values = {"temperature": 0, "max_tokens": 16, "ignore_eos": True, "detokenize": False, **values}
        if "structured_outputs" in values:
            values["structured_outputs"] = StructuredOutputsParams(**values["structured_outputs"])
        return SamplingParams(**values)

    engine = {"dtype": "float32", "max_model_len": 128, "max_num_seqs": 8, "kv_cache_memory_bytes": 8 << 20}
    if not (Path(job["model"]) / "tokenizer.json").is_file():
        engine["skip_tokenizer_init"] = True
    llm = LLM(job["model"], **{**engine, **job.get("engine", {})})
    rounds, fallbacks, asleep = [], [], {}
    replay = counted_replays()
    for number, item in enumerate(job["rounds"]):
        selected = item.get("sampling", {})
        params = [sampling(one) for one in selected] if isinstance(selected, list) else sampling(selected)
        lora = LoRARequest("adapter", 1, item["lora"]) if "lora" in item else None
        if "sleep" in item:
            asleep = slept(llm, item["sleep"])
        if "reload" in item:
            llm.collective_rpc("reload_weights", kwargs={"weights_path": item["reload"]})
        prompts = [{"prompt_token_ids": tokens} for tokens in item["prompts"]]
        reset_fallback_report()
        print(f"round {number}", file=sys.stderr, flush=True)
        outputs = llm.generate(prompts, params, use_tqdm=False, lora_request=lora)
        rounds.append([described(output) for output in outputs])
        fallbacks.append(fallback_report())
    print("rounds end", file=sys.stderr, flush=True)
    return {
        "rounds": rounds,
        "device": device(),
        "platform": current_platform.device_type,
        "fallbacks": fallbacks,
        **asleep,
        "graphs": graphs(replay),
        "metrics": {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}
        if not job.get("engine", {}).get("disable_log_stats", True)
        else {},
    }


def counted_replays() -> mock.Mock:
    """Counts the replays of the device's graphs from now on."""
    import torch
    from diopi_torch.package import device

    graph = torch.get_device_module(device()).CUDAGraph
    replay = mock.Mock(side_effect=graph.replay)
    graph.replay = lambda self: replay(self)
    return replay


def graphs(replay: mock.Mock) -> dict[str, int]:
    from torch._dynamo.utils import counters
    from vllm.compilation.counter import compilation_counter

    return {
        "compiled": counters["stats"]["unique_graphs"],
        "captured": compilation_counter.num_cudagraph_captured,
        "replayed": replay.call_count,
    }


def slept(llm: Any, level: int) -> dict[str, Any]:
    """Lets the device sleep; returns the bytes that it had allocated before, meanwhile and afterwards, and those of the
    caches."""
    import torch

    counts = [torch.accelerator.memory_allocated()]
    llm.sleep(level)
    counts.append(torch.accelerator.memory_allocated())
    llm.wake_up(["weights"])
    if level == 2:
        llm.collective_rpc("reload_weights")
    llm.wake_up(["kv_cache"])
    counts.append(torch.accelerator.memory_allocated())
    (caches,) = llm.collective_rpc(lambda worker: sum(cache.nbytes for cache in worker.model_runner.kv_caches))
    return {"allocated": counts, "cache": caches}


def described(output: Any) -> dict[str, Any]:
    """Tokens of a request, and the logarithm of the probability of each where it was asked for."""
    first = output.outputs[0]
    logprobs = None
    if first.logprobs is not None:
        logprobs = [{token: entry.logprob for token, entry in step.items()} for step in first.logprobs]
    return {
        "tokens": list(first.token_ids),
        "text": first.text,
        "logprobs": logprobs,
        "cached": output.num_cached_tokens,
    }


def forked(job: Path, results: Path, log: Path) -> int:
    """Serves a job in a child; returns its exit status."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        with log.open("w") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
        described = json.loads(job.read_text())
        os.environ.update(described.get("variables", {}))
        results.write_text(json.dumps(serve(described)))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    import vllm
    from vllm.platforms import current_platform

    assert vllm.LLM and current_platform.device_type
    for line in sys.stdin:
        print(forked(*map(Path, line.split())), flush=True)


if __name__ == "__main__":
    main()
