"""What observing costs, as ratios within one run. By hand: ``python tests/benchmarks/observe.py``

1. One pass at 3,072 tokens of a 12-layer random Qwen2.5-VL text stack: plain SDPA, SDPA with the last row read,
   eager with all attentions. Time: median over interleaved repeats. Memory: the largest resident size while the
   pass runs less that just before it, each in a process of its own.
2. Candidates of several tokens (N = 12) from the key-value cache, against the prompt's own pass.
3. Calibration at N = 8 (5 cases x 8 rotations) with features reused and batched, against one by one, no reuse.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from lad_core.models import load_model  # noqa: E402
from lad_core.models.feature_cache import FeatureCache  # noqa: E402
from lad_core.models.probe import SDPA_WITH_LAST_ROW, record_last_rows  # noqa: E402
from lad_core.scenes.deal import calibration_cases, deal  # noqa: E402

WAYS = ("sdpa", SDPA_WITH_LAST_ROW, "eager")
TOKENS, LAYERS = 3072, 12


def text_stack(attention: str):
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLTextConfig
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel

    config = Qwen2_5_VLTextConfig(
        vocab_size=1000,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        bos_token_id=None,
        eos_token_id=None,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [8, 12, 12]},
    )
    torch.manual_seed(0)
    return Qwen2_5_VLTextModel._from_config(config, attn_implementation=attention).eval()


def one_pass(model, attention: str, ids: torch.Tensor) -> None:
    with torch.inference_mode(), record_last_rows([layer.self_attn for layer in model.layers]) as rows:
        model(input_ids=ids, output_attentions=attention == "eager", use_cache=False)
        if attention == SDPA_WITH_LAST_ROW:
            rows.stacked()


def peak_memory(attention: str) -> float:
    """Extra resident memory of one pass, in MB, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_here, (attention,))


def _peak_here(attention: str) -> float:
    model = text_stack(attention)
    one_pass(model, attention, torch.arange(64)[None])  # what is allocated once
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak is counted from here
    before = _resident("VmRSS")
    one_pass(model, attention, torch.arange(TOKENS)[None] % 1000)
    return (_resident("VmHWM") - before) / 1024


def _resident(field: str) -> int:
    """A memory figure of this process, in kB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0])


def interleaved(repeats: int, **calls: Callable[[], None]) -> dict[str, float]:
    """Median seconds of each call; the calls take turns, so that a slow minute hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if turn:  # the first turn warms up
                seconds[name].append(time.perf_counter() - began)
    return {name: median(values) for name, values in seconds.items()}


def attention_reading(repeats: int) -> None:
    ids = torch.arange(TOKENS)[None] % 1000
    models = {way: text_stack(way) for way in WAYS}
    spent = interleaved(repeats, **{way: (lambda w=way: one_pass(models[w], w, ids)) for way in WAYS})
    memory = {way: peak_memory(way) for way in WAYS}
    print(f"\nOne pass, {TOKENS} tokens, {LAYERS} layers, random weights")
    for way in WAYS:
        print(
            f"  {way:22} {spent[way]:6.2f} s = {spent[way] / spent['sdpa']:5.2f} x SDPA   "
            f"{memory[way]:7.0f} MB extra = {memory[way] / memory['sdpa']:5.2f} x SDPA"
        )
    print(f"  eager / last row: {spent['eager'] / spent[SDPA_WITH_LAST_ROW]:.2f} x the time")


def candidates(repeats: int) -> None:
    model = load_model("scene-vlm")
    case = deal(12, seed=0)
    model.observe(case)
    seconds = [model.observe(case).seconds for _ in range(repeats * 10)]
    single = median(s["forward"] for s in seconds)
    whole = median(s["forward"] + s["candidates"] for s in seconds)
    print(
        f"\nN = 12: {whole * 1e3:.1f} ms with two-token identifiers = {whole / single:.2f} x the prompt's pass"
    )


def calibration(repeats: int) -> None:
    model = load_model("scene-vlm")
    rotated = [case.rotated(k) for case in calibration_cases(8) for k in range(8)]

    def reused() -> None:
        model.features = FeatureCache()
        model.observe_many(rotated)
        assert model.features.misses == 40

    def one_by_one() -> None:
        for case in rotated:
            model.features = FeatureCache()
            model.observe(case)

    spent = interleaved(repeats, reused=reused, one_by_one=one_by_one)
    print(
        f"\nCalibrating at N = 8: {spent['reused']:.2f} s, each of the 40 pictures encoded once; one by one, no "
        f"reuse: {spent['one_by_one']:.2f} s = {spent['one_by_one'] / spent['reused']:.2f} x"
    )


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--repeats", type=int, default=5)
    given = flags.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    attention_reading(given.repeats)
    candidates(given.repeats)
    calibration(given.repeats)
