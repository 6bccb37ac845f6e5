"""Pictures from files: upright, RGB, and refused in one sentence where they are none."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

MAX_MEGAPIXELS = 50
#: What is read: PNG, JPEG (phones' multi-picture files included), WebP and the first frame of a GIF.
FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "GIF")


def open_image(source: str | Path | bytes) -> Image.Image:
    """A picture as RGB: turned upright (EXIF), first frame, transparency over white.

    Raises:
        ValueError: the file is missing, is no picture, is damaged, or has more than 50 megapixels (its header
            is read first, so that a small file of a huge picture is refused before it is unpacked).
    """
    name = "The image" if isinstance(source, bytes) else Path(source).name
    try:
        with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS) as image:
            width, height = image.size
            if width * height > MAX_MEGAPIXELS * 10**6:
                raise ValueError(_too_large(name, f"{width * height / 10**6:.0f} megapixels"))
            image.load()
            return _on_white(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError as error:
        raise ValueError(_too_large(name, "far more")) from error
    except FileNotFoundError as error:
        raise ValueError(f"There is no file {source}.") from error
    except UnidentifiedImageError as error:
        raise ValueError(f"{name} is not a picture; use a PNG, JPEG, WebP or GIF file.") from error
    except (OSError, SyntaxError, EOFError) as error:
        raise ValueError(f"{name} is damaged or cut short; save it again and retry.") from error


def _too_large(name: str, has: str) -> str:
    return f"{name} has {has}, more than the {MAX_MEGAPIXELS} megapixels that are read; make it smaller."


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):  # 16 bit a channel: scaled down, not clipped
        image = image.point(lambda value: value / 256).convert("L")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def fit(image: Image.Image, size: int) -> Image.Image:
    """The picture as a model gets it: ``size`` x ``size`` RGB, bicubic (as in the paper's released code)."""
    if image.size == (size, size) and image.mode == "RGB":
        return image
    return image.convert("RGB").resize((size, size), Image.Resampling.BICUBIC)
