"""Features of vLLM's engine over a tiny Llama; greedy tokens stay those of transformers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quantized_models
import rounded_caches
import tiny_models
import torch

Run = Callable[..., dict[str, Any]]
Models = Callable[[str], Path]
LONG = [[(7 * index + shift) % 256 for index in range(50)] for shift in (0, 31)]


def tokens(results: dict[str, Any], number: int = 0) -> list[list[int]]:
    return [request["tokens"] for request in results["rounds"][number]]


@pytest.fixture
def llama(models: Models) -> Path:
    return models("llama")


def expected(folder: Path, prompts: list[list[int]], count: int) -> list[list[int]]:
    return tiny_models.greedy(tiny_models.load(folder), prompts, count)


@pytest.mark.parametrize("name", ["llama", "deepseek_v3"])
def test_a_prompt_is_computed_in_chunks(name: str, run: Run, models: Models) -> None:
    engine = {"max_num_batched_tokens": 16, "enable_chunked_prefill": True}  # below the length of a prompt
    results = run(model=str(models(name)), engine=engine, rounds=[{"prompts": LONG}])
    assert tokens(results) == expected(models(name), LONG, 16)


@pytest.mark.parametrize("name", ["llama", "deepseek_v3"])
def test_a_shared_prefix_is_computed_once(name: str, run: Run, models: Models) -> None:
    second = [[*LONG[0][:40], 99, 98, 97], [*LONG[1][:33], 5]]
    rounds = [{"prompts": LONG}, {"prompts": second}]
    results = run(model=str(models(name)), engine={"enable_prefix_caching": True, "block_size": 16}, rounds=rounds)
    assert [request["cached"] for request in results["rounds"][1]] == [32, 32]
    assert tokens(results) == expected(models(name), LONG, 16)
    assert tokens(results, 1) == expected(models(name), second, 16)


def test_a_full_cache_preempts_requests(run: Run, llama: Path) -> None:
    prompts = [[(3 * index + 11 * number) % 256 for index in range(15)] for number in range(4)]
    engine = {
        "num_gpu_blocks_override": 9,
        "block_size": 16,
        "max_model_len": 64,
        "enable_prefix_caching": False,
        "disable_log_stats": False,
    }
    results = run(model=str(llama), engine=engine, rounds=[{"prompts": prompts, "sampling": {"max_tokens": 40}}])
    assert results["metrics"]["vllm:num_preemptions"] > 0
    assert tokens(results) == expected(llama, prompts, 40)


def test_sixty_four_requests_at_once(run: Run, llama: Path) -> None:
    prompts = [[(5 * index + 3 * number) % 256 for index in range(3 + number % 17)] for number in range(64)]
    results = run(
        model=str(llama), engine={"max_num_seqs": 64}, rounds=[{"prompts": prompts, "sampling": {"max_tokens": 8}}]
    )
    assert tokens(results) == expected(llama, prompts, 8)


def test_drafts_of_n_grams(run: Run, llama: Path) -> None:
    speculative = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    engine = {"speculative_config": speculative, "disable_log_stats": False}
    sampled = {"max_tokens": 24, "temperature": 0.8, "seed": 3}
    rounds = [{"prompts": prompts, "sampling": {"max_tokens": 24}}, {"prompts": prompts, "sampling": sampled}]
    results = run(model=str(llama), engine=engine, rounds=rounds)
    assert tokens(results) == expected(llama, prompts, 24)
    assert results["metrics"]["vllm:spec_decode_num_accepted_tokens"] > 0
    assert [len(one) for one in tokens(results, 1)] == [24, 24]


def test_logarithms_of_probabilities_and_seeds(run: Run, llama: Path) -> None:
    prompt = [1, 5, 9, 33, 7]
    random = {"temperature": 0.9, "top_k": 20, "top_p": 0.9, "seed": 5, "max_tokens": 12, "repetition_penalty": 1.2}
    rounds = [{"prompts": [prompt], "sampling": {"logprobs": 4, "max_tokens": 6}}]
    rounds += [{"prompts": [prompt], "sampling": random}] * 2
    results = run(model=str(llama), rounds=rounds)
    (request,) = results["rounds"][0]
    model, sequence = tiny_models.load(llama), list(prompt)
    for token, logprobs in zip(request["tokens"], request["logprobs"], strict=True):
        with torch.no_grad():
            reference = model(torch.tensor([sequence])).logits[0, -1].log_softmax(-1)
        best = reference.topk(4).indices.tolist()
        assert {int(one) for one in logprobs} == {*best}
        for one, value in logprobs.items():
            assert value == pytest.approx(reference[int(one)].item(), abs=1e-4)
        sequence.append(token)
    assert tokens(results, 1) == tokens(results, 2)  # a seed determines the tokens
    assert tokens(results, 1) != [request["tokens"]]


def test_masks_leave_the_best_token(run: Run, llama: Path) -> None:
    """Sampling at a temperature of 1 of one token is greedy; a penalty below 0 attracts the tokens of the output."""
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    one: list[dict[str, Any]] = [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}, {"top_k": 5, "min_p": 0.999999}]
    rounds: list[dict[str, Any]] = [
        {"prompts": prompts, "sampling": {**limit, "temperature": 1, "max_tokens": 12}} for limit in one
    ]
    rounds.append({"prompts": prompts, "sampling": {"max_tokens": 12, "presence_penalty": -2, "frequency_penalty": -2}})
    results = run(model=str(llama), rounds=rounds)
    greedy = expected(llama, prompts, 12)
    assert [tokens(results, number) for number in range(len(one))] == [greedy] * len(one)
    model, drawn = tiny_models.load(llama), []
    for prompt in prompts:
        output: list[int] = []
        for _ in range(12):
            with torch.no_grad():
                logits = model(torch.tensor([[*prompt, *output]])).logits[0, -1]
            counts = torch.bincount(torch.tensor(output, dtype=torch.long), minlength=len(logits))
            output.append(int((logits + 2 * counts + 2 * (counts > 0)).argmax()))
        drawn.append(output)
    assert tokens(results, len(one)) == drawn != greedy


def test_structured_output(run: Run, llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    for file in llama.iterdir():
        (folder / file.name).symlink_to(file)
    tiny_models.save_tokenizer(folder)
    choice = {"structured_outputs": {"choice": ["river", "lake"]}, "ignore_eos": False, "detokenize": True}
    pattern = {"structured_outputs": {"regex": "[0-9]{3}-[a-f]{2}"}, "ignore_eos": False, "detokenize": True}
    results = run(model=str(folder), rounds=[{"prompts": [[65, 66, 67]] * 2, "sampling": [choice, pattern]}])
    first, second = results["rounds"][0]
    assert first["text"] in ("river", "lake")
    assert re.fullmatch("[0-9]{3}-[a-f]{2}", second["text"])


def test_an_adapter_of_low_rank(run: Run, llama: Path, tmp_path: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    added = quantized_models.save_lora(tmp_path / "adapter", 8)
    rounds = [{"prompts": prompts, "lora": str(tmp_path / "adapter")}, {"prompts": prompts}]
    results = run(model=str(llama), engine={"enable_lora": True, "max_lora_rank": 8}, rounds=rounds)
    model = tiny_models.load(llama)
    assert tokens(results, 1) == tiny_models.greedy(model, prompts, 16)
    for path, change in added.items():
        model.get_submodule(path).weight.data += change
    with_adapter = tiny_models.greedy(model, prompts, 16)
    assert with_adapter != tokens(results, 1)
    assert tokens(results, 0) == with_adapter


@pytest.mark.parametrize(
    "form",
    ["w4a16", "w8a16", "w8a8", "gptq", "awq", "static_float8", "float8 tensor", "float8 channel", "float8 block"],
)
def test_quantized_weights(form: str, run: Run, llama: Path, tmp_path: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    function, *strategy = form.split()
    model = getattr(quantized_models, f"save_{function}")(llama, tmp_path / form, *strategy)
    results = run(model=str(tmp_path / form), rounds=[{"prompts": prompts}])
    assert tokens(results) == tiny_models.greedy(model, prompts, 16)


@pytest.mark.parametrize(
    "form",
    [
        "float8_experts tensor",
        "float8_experts channel",
        "float8_experts block",
        "w4a16",
        "w8a16",
        "w4a16_zeros",
        "gptq",
        "awq",
    ],
)
def test_quantized_experts(form: str, run: Run, models: Models, tmp_path: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    function, *strategy = form.split()
    model = getattr(quantized_models, f"save_{function}")(models("qwen3_moe"), tmp_path / form, *strategy)
    results = run(model=str(tmp_path / form), rounds=[{"prompts": prompts}])
    dequantized = tiny_models.greedy(model, prompts, 16)
    assert dequantized != expected(models("qwen3_moe"), prompts, 16)
    assert tokens(results) == dequantized


@pytest.mark.parametrize(("name", "dtype"), [("llama", "fp8"), ("llama", "fp8_e5m2"), ("deepseek_v3", "fp8")])
def test_caches_of_float8(name: str, dtype: str, run: Run, models: Models) -> None:
    model, prompts = tiny_models.load(models(name)), [[1, 5, 9, 33, 7], LONG[0]]
    engine = {"kv_cache_dtype": dtype, "max_num_batched_tokens": 16, "enable_chunked_prefill": True}
    results = run(model=str(models(name)), engine=engine, rounds=[{"prompts": prompts}])
    element = torch.float8_e5m2 if dtype == "fp8_e5m2" else torch.float8_e4m3fn
    with rounded_caches.float8_caches(model, element, [(1.0, 1.0)] * 2):
        rounded = tiny_models.greedy(model, prompts, 16)
    assert rounded != tiny_models.greedy(model, prompts, 16)
    assert tokens(results) == rounded


def test_caches_of_float8_with_scales(run: Run, llama: Path, tmp_path: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    model = quantized_models.save_static_float8(llama, tmp_path / "scaled")
    scales = quantized_models.save_cache_scales(tmp_path / "scaled")
    results = run(model=str(tmp_path / "scaled"), engine={"kv_cache_dtype": "fp8"}, rounds=[{"prompts": prompts}])
    with rounded_caches.float8_caches(model, torch.float8_e4m3fn, scales):
        rounded = tiny_models.greedy(model, prompts, 16)
    with rounded_caches.float8_caches(model, torch.float8_e4m3fn, [(1.0, 1.0)] * 2):
        assert tiny_models.greedy(model, prompts, 16) != rounded
    assert tokens(results) == rounded


@pytest.mark.parametrize("level", [1, 2])
def test_a_device_sleeps(level: int, run: Run, llama: Path) -> None:
    """Weights and caches leave the device; at level 2 the weights are loaded again."""
    prompts = [[1, 5, 9, 33, 7], LONG[0]]
    rounds = [{"prompts": prompts}, {"prompts": prompts, "sleep": level}]
    results = run(model=str(llama), engine={"enable_sleep_mode": True}, rounds=rounds)
    model = tiny_models.load(llama)
    assert tokens(results) == tokens(results, 1) == tiny_models.greedy(model, prompts, 16)
    assert [request["cached"] for request in results["rounds"][1]] == [0, 0]
    weights = sum(parameter.nbytes for parameter in model.parameters())
    awake, asleep, again = results["allocated"]
    assert awake - asleep >= weights + results["cache"]
    assert asleep < weights
    assert again == awake


def test_weights_are_loaded_again(run: Run, models: Models, llama: Path, tmp_path: Path) -> None:
    """The weights of another checkpoint take the place of those that were served."""
    model, prompts = tiny_models.load(llama), [[1, 5, 9, 33, 7], LONG[0]]
    for parameter in model.parameters():
        parameter.data.mul_(0.9)
    model.save_pretrained(tmp_path / "other")
    rounds = [{"prompts": prompts}, {"prompts": prompts, "reload": str(tmp_path / "other")}]
    results = run(model=str(llama), engine={"enable_prefix_caching": False}, rounds=rounds)
    assert tokens(results) == expected(llama, prompts, 16)
    assert tokens(results, 1) == tiny_models.greedy(model, prompts, 16) != tokens(results)


@pytest.mark.parametrize(
    ("name", "mode"),
    [("llama", "FULL_DECODE_ONLY"), ("llama", "FULL"), ("qwen3_moe", "FULL_DECODE_ONLY"), ("deepseek_v3", "FULL")],
)
def test_steps_are_captured(name: str, mode: str, run: Run, models: Models) -> None:
    """Each step of decoding is a replay; one of three requests is padded to four."""
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3], [4, 3, 2]]
    compilation = {"cudagraph_mode": mode, "cudagraph_capture_sizes": [1, 2, 4]}
    rounds = [{"prompts": prompts[:2]}, {"prompts": prompts, "sampling": {"max_tokens": 8}}]
    results = run(model=str(models(name)), engine={"compilation_config": compilation}, rounds=rounds)
    assert results["graphs"] == {"compiled": 0, "captured": 3, "replayed": 15 + 7}
    assert tokens(results) == expected(models(name), prompts[:2], 16)
    assert tokens(results, 1) == expected(models(name), prompts, 8)


@pytest.mark.parametrize(("mode", "backend"), [(3, "eager"), (2, "diopi")])
def test_a_model_is_compiled(mode: int, backend: str, run: Run, llama: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    engine = {"compilation_config": {"mode": mode, "backend": backend}}
    variables = {"VLLM_DISABLE_COMPILE_CACHE": "1"}
    results = run(model=str(llama), engine=engine, rounds=[{"prompts": prompts}], variables=variables)
    assert results["graphs"]["compiled"] > 0
    assert tokens(results) == expected(llama, prompts, 16)


def test_two_devices_share_the_layers(run: Run, llama: Path, tmp_path: Path) -> None:
    prompts = [[1, 5, 9, 33, 7], [2, 100, 200, 17, 88, 91, 3]]
    variables = {"DIOPI_DUMP_OP_ARGS": "1"}  # shows operators of ATen, not those of functions
    rounds = [{"prompts": prompts}]
    results = run(model=str(llama), engine={"tensor_parallel_size": 2}, rounds=rounds, variables=variables)
    operators = set(re.findall(r"diopi: (\w+)", (tmp_path / "log").read_text()))
    assert "mm" in operators and not {"embedding", "masked_fill_"} & operators  # rows are those of a sharded vocabulary
    assert tokens(results) == expected(llama, prompts, 16)
