"""Serves rounds of requests with offline engines, each in a process of its own, forked before the device is used.

Reads lines with the names of three files, of a job, of its results and of what the engine prints; prints the exit
status of each. vLLM is imported once, which takes longer than serving a tiny model.

The job has `model` (a folder), `engine` (arguments of `vllm.LLM`) and `rounds`; a round has `prompts` (lists of tokens)
and `sampling` (arguments of `SamplingParams`, for all prompts or a list of one for each). The results have the tokens
and logarithms of probabilities of each round, and its calls that ran on the host, by operator.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any


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
    rounds, fallbacks = [], []
    for number, item in enumerate(job["rounds"]):
        selected = item.get("sampling", {})
        params = [sampling(one) for one in selected] if isinstance(selected, list) else sampling(selected)
        lora = LoRARequest("adapter", 1, item["lora"]) if "lora" in item else None
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
        "metrics": {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}
        if not job.get("engine", {}).get("disable_log_stats", True)
        else {},
    }


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
