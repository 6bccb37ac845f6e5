"""The embedded model's tokenizer and processor: a word list, one digit a token, Qwen2.5-VL's chat layout.

They are transformers' own classes; what is ours is the list of words.
"""

from __future__ import annotations

import string

from lad_core.prompts import identifiers, prompt
from lad_core.scenes.world import COLOURS, INVERSE, KINDS

IMAGE_SIZE = 64  # pixels a side: 8 x 8 patches of 8, merged 2 x 2 into 16 image tokens
PATCH_SIZE = 8
MERGE_SIZE = 2
IMAGE_TOKENS = (IMAGE_SIZE // PATCH_SIZE // MERGE_SIZE) ** 2
FORMATS = ("numbers", "letters")  # the identifier formats that the embedded model knows

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "[UNK]",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in part %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

#: The words of captions: what a query may be made of.
CAPTION_WORDS = tuple(sorted({"a", "an", *COLOURS, *KINDS, *" ".join([*INVERSE, *INVERSE.values()]).split()}))


def describe_prompt(identifier: str) -> str:
    """The second task of the training: say what one of the images shows."""
    return f"Describe image {identifier}."


def _splitter():
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s+"), "removed"),
            pre_tokenizers.Split(Regex(r"[0-9]|[^\w\s]"), "isolated"),
        ]
    )


def _lower_words():
    """Lower-cases a capital that stands beside another letter. One that stands alone is an identifier."""
    from tokenizers import Regex, normalizers

    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(rf"{capital}(?=[A-Za-z])|(?<=[A-Za-z]){capital}"), capital.lower())
            for capital in string.ascii_uppercase
        ]
    )


def vocabulary() -> list[str]:
    """Every token, in the order of its number: special tokens, then the words of prompts and captions."""
    normalise, split = _lower_words(), _splitter()
    texts = [describe_prompt("1"), "system user assistant", " ".join(CAPTION_WORDS), string.digits]
    for format in FORMATS:
        texts += identifiers(12, format)
        texts += [prompt("", n, format) for n in (2, 12)]
    words = {word for text in texts for word, _ in split.pre_tokenize_str(normalise.normalize_str(text))}
    return [*SPECIAL, *sorted(words)]


def build_processor():
    """A ``Qwen2_5_VLProcessor`` over the word list, ready for ``save_pretrained``."""
    from tokenizers import Tokenizer, models
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    words = vocabulary()
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = _lower_words()
    tokenizer.pre_tokenizer = _splitter()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        additional_special_tokens=list(SPECIAL[1:-1]),
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    pixels = IMAGE_SIZE**2
    sizes = {
        "patch_size": PATCH_SIZE,
        "merge_size": MERGE_SIZE,
        "temporal_patch_size": 2,
        "size": {"shortest_edge": pixels, "longest_edge": pixels},
    }
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**sizes),
        tokenizer=fast,
        video_processor=Qwen2VLVideoProcessor(**sizes),
        chat_template=CHAT_TEMPLATE,
    )
