"""What counts as a picture, and its encoded bytes.

Libraries are recognised among those that are already imported: a value of a type cannot exist without its module.
"""

import base64
import io
import os
import sys
from pathlib import Path
from typing import Any

_CHANNELS = (3, 4)


def picture_of(value: object) -> bytes | None:
    """PNG (or JPEG) bytes of a figure, axes, PIL image, image array or object that draws itself; None for anything else.

    A matplotlib figure is closed for pyplot, so that the notebook does not show it a second time; it can still be used.
    """
    figure = _figure_of(value)
    if figure is not None:
        return _drawn(figure)
    if is_instance(value, "PIL.Image", "Image"):
        return _saved(value)
    if _is_image_array(value, dimensions=(3,)):
        return _from_array(value)
    return _self_drawn(value)


def given_picture(value: object) -> bytes:
    """Like `picture_of`, for a value that is meant as an image: bytes, paths and grey arrays as well.

    Raises:
        TypeError: It is no image.
        OSError: The path cannot be read.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        return Path(os.fspath(value)).read_bytes()
    found = _from_array(value) if _is_image_array(value, dimensions=(2, 3)) else picture_of(value)
    if found is None:
        shape = f" of {value.dtype} with shape {value.shape}" if is_instance(value, "numpy", "ndarray") else ""  # type: ignore[attr-defined]
        raise TypeError(
            f"attach_image takes bytes, a path, a PIL image, a matplotlib figure or a uint8 array of height x width (x 3 or 4), "
            f"not {type(value).__name__}{shape}."
        )
    return found


def is_picture(value: object) -> bool:
    """True when `picture_of` would give bytes; draws nothing (an object that draws itself is not counted)."""
    return (
        _figure_of(value) is not None
        or is_instance(value, "PIL.Image", "Image")
        or _is_image_array(value, dimensions=(3,))
    )


def is_instance(value: object, module: str, name: str) -> bool:
    """Isinstance for a class of a module that is looked at only when it is already imported."""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(value, cls)


def _figure_of(value: Any) -> Any:
    """The figure that a value is or belongs to: plotting functions return axes, or arrays of axes."""
    if is_instance(value, "matplotlib.figure", "Figure"):
        return value
    if is_instance(value, "matplotlib.axes", "Axes") or is_instance(value, "matplotlib.figure", "SubFigure"):
        return value.get_figure(root=True)
    if (
        is_instance(value, "numpy", "ndarray")
        and value.dtype == object
        and value.size
        and is_instance(value.flat[0], "matplotlib.axes", "Axes")
    ):
        return value.flat[0].get_figure(root=True)
    return None


def _drawn(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})  # no version in the bytes
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    return out.getvalue()


def _saved(image: Any) -> bytes:
    out = io.BytesIO()
    deep = image if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16") else image.convert("RGB")
    deep.save(out, "PNG")
    return out.getvalue()


def _is_image_array(value: Any, *, dimensions: tuple[int, ...]) -> bool:
    if (
        not is_instance(value, "numpy", "ndarray")
        or str(value.dtype) != "uint8"
        or value.ndim not in dimensions
        or not value.size
    ):
        return False
    return value.ndim == min(dimensions) == 2 or value.shape[-1] in _CHANNELS  # noqa: PLR2004  a grey image has two dimensions


def _from_array(array: Any) -> bytes:
    from PIL import Image  # noqa: PLC0415

    return _saved(Image.fromarray(array))


def _self_drawn(value: Any) -> bytes | None:
    """The rich display protocol: `_repr_png_`, `_repr_jpeg_`."""
    if isinstance(value, type):
        return None
    for name in ("_repr_png_", "_repr_jpeg_"):
        if callable(getattr(type(value), name, None)):
            data = getattr(value, name)()
            data = data[0] if isinstance(data, tuple) else data
            if data:
                return base64.b64decode(data) if isinstance(data, str) else bytes(data)
    return None
