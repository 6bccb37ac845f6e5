"""Pictures from files: upright, RGB, and refused in one sentence where they are none."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps, UnidentifiedImageError

MAX_MEGAPIXELS = 50
#: What is read: PNG, JPEG (phones' multi-picture files included), WebP and the first frame of a GIF.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def open_image(source: str | Path | bytes | BinaryIO | Image.Image) -> Image.Image:
    """A picture as RGB: turned upright (EXIF), first frame, transparency over white.

    Raises:
        ValueError: the file is missing, is no picture, is damaged, or has more than 50 megapixels (its header
            is read first, so that a small file of a huge picture is refused before it is unpacked).
    """
    if isinstance(source, Image.Image):
        return _upright_rgb(source, "The image")
    name = Path(source).name if isinstance(source, str | Path) else "The image"
    try:
        image = Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS)
    except Image.DecompressionBombError as error:  # Pillow's own limit, above ours
        raise ValueError(_too_large(f"{name} has")) from error
    except FileNotFoundError as error:
        raise ValueError(f"There is no file {source}.") from error
    except (UnidentifiedImageError, IsADirectoryError) as error:
        raise ValueError(f"{name} is not a picture; use a PNG, JPEG, WebP or GIF file.") from error
    except (OSError, ValueError) as error:
        raise ValueError(_damaged(name)) from error
    with image:
        return _upright_rgb(image, name)


def fit(image: Image.Image, size: int) -> Image.Image:
    """The picture as a model gets it: ``size`` x ``size`` RGB, bicubic (as in the paper's released code)."""
    if image.size == (size, size) and image.mode == "RGB":
        return image
    return image.convert("RGB").resize((size, size), Image.Resampling.BICUBIC)


def _upright_rgb(image: Image.Image, name: str) -> Image.Image:
    if image.width * image.height > MAX_MEGAPIXELS * 10**6:  # known from the header, before any pixel is read
        raise ValueError(_too_large(f"{name} has {image.width * image.height / 10**6:.0f} megapixels,"))
    try:
        return _on_white(ImageOps.exif_transpose(image))
    except (
        OSError,
        SyntaxError,
        EOFError,
        ValueError,
        struct.error,
    ) as error:  # what Pillow's decoders raise
        raise ValueError(_damaged(name)) from error


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):  # 16 bits a channel: scaled down, not clipped
        image = image.point(lambda value: value / 256).convert("L")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _too_large(has: str) -> str:
    return f"{has} more than the {MAX_MEGAPIXELS} megapixels that are read; make it smaller."


def _damaged(name: str) -> str:
    return f"{name} is damaged or cut short; save it again and retry."
