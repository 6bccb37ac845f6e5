from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from lad_core.images import fit, open_image


def encoded(image: Image.Image, format: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def huge_png(width: int, height: int) -> bytes:
    """A PNG whose header promises far more than its few bytes hold."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


RED = Image.new("RGB", (6, 4), (200, 10, 10))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
def test_formats(format, tmp_path):
    path = tmp_path / f"picture.{format.lower()}"
    path.write_bytes(encoded(RED, format))
    image = open_image(path)
    assert (image.mode, image.size) == ("RGB", (6, 4))
    assert np.abs(np.asarray(image, dtype=int) - (200, 10, 10)).max() <= 12


def test_first_frame_of_a_gif():
    blue = Image.new("RGB", (6, 4), (10, 10, 200))
    image = open_image(encoded(RED, "GIF", save_all=True, append_images=[blue]))
    assert image.getpixel((0, 0)) == (200, 10, 10)


def test_phone_photos_are_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held a quarter turn to the side
    photo = Image.new("RGB", (40, 20), "white")
    photo.paste((0, 0, 255), (0, 0, 20, 20))  # the left half comes to lie on top
    image = open_image(encoded(photo, "JPEG", exif=exif, quality=95))
    assert image.size == (20, 40)
    assert image.getpixel((10, 5))[0] < 40
    assert image.getpixel((10, 35))[0] > 215


def test_transparency_lies_over_white():
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert open_image(encoded(clear, "PNG")).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "CMYK", "1", "I;16"])
def test_modes_become_rgb(mode):
    format = "JPEG" if mode == "CMYK" else "PNG"
    assert open_image(encoded(Image.new(mode, (4, 4)), format)).mode == "RGB"


def test_sixteen_bits_are_scaled_not_clipped():
    grey = Image.fromarray(np.full((4, 4), 32768, dtype=np.uint16))
    assert open_image(encoded(grey, "PNG")).getpixel((0, 0))[0] == 128


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"not a picture", "not a picture"),
        (b"", "not a picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
        (encoded(Image.effect_noise((200, 200), 90), "PNG")[:2000], "damaged or cut short"),
        (encoded(Image.effect_noise((200, 200), 90), "JPEG")[:2000], "damaged or cut short"),
        (huge_png(10_000, 10_000), "has 100 megapixels, more than the 50"),
        (huge_png(60_000, 60_000), "more than the 50 megapixels"),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_bad_files_are_refused_in_one_sentence(content, says, tmp_path):
    path = tmp_path / "upload.png"
    path.write_bytes(content)
    for source in (path, content):
        with pytest.raises(ValueError, match=says) as error:
            open_image(source)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"upload\.png"):
        open_image(path)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.filterwarnings("ignore")  # Pillow's, on damaged headers
def test_whatever_is_damaged_a_picture_or_a_sentence_comes_back(format):
    whole = encoded(Image.effect_noise((24, 24), 80).convert("RGB"), format)
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(100):
        damaged = np.frombuffer(whole, dtype=np.uint8).copy()
        damaged[rng.integers(len(whole), size=3)] = rng.integers(256, size=3)
        try:
            assert open_image(damaged[: rng.integers(1, len(whole) + 1)].tobytes()).mode == "RGB"
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert not any("\n" in sentence for sentence in refused)


def test_open_files_and_open_pictures_are_taken_too():
    assert open_image(io.BytesIO(encoded(RED, "WEBP"))).size == (6, 4)
    assert open_image(Image.new("RGBA", (4, 4), (0, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)


def test_missing_file(tmp_path):
    with pytest.raises(ValueError, match="There is no file"):
        open_image(tmp_path / "nothing.png")


def test_a_folder_is_no_picture(tmp_path):
    with pytest.raises(ValueError, match=r"damaged|not a picture"):
        open_image(tmp_path)


def test_fit_is_square():
    assert fit(RED, 64).size == (64, 64)
