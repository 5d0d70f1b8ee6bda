"""The parts of a result become files of the run and one text for the model."""

import asyncio
from collections.abc import Sequence

from tt_kernel.domain.calls import StoredFile, ToolCall
from tt_kernel.domain.canonical import Json
from tt_kernel.toolkit.images import ImageProblem, normalise_image
from tt_kernel.toolkit.long_results import SaveFile
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.functions.returns import Part, Picture
from tt_kernel.tools.functions.tables import Table

SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}


async def keep(call: ToolCall, parts: Sequence[Part], save_file: SaveFile, *, details: Json) -> Outcome:
    """Store tables and pictures, in order; tell the model of each.

    A picture that no model can take is noted at the end, and the rest is unaffected (spec tauritavern §8.3).
    """
    texts: list[str] = []
    notes: list[str] = []
    images: list[StoredFile] = []
    files: list[StoredFile] = []
    for part in parts:
        index = len(images) + len(files)
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Table):
            files.append(save_file(call, index, part.data, "text/csv", ".csv"))
            texts.append(part.brief(files[-1].path))
        else:
            stored = await _picture(call, index, part, save_file)
            if isinstance(stored, ImageProblem):
                notes.append(stored.message)
            else:
                images.append(stored)
                texts.append(f"Image {len(images)}: {stored.width} x {stored.height} pixels, {stored.path}.")
    return Outcome(
        content="\n\n".join([*texts, *notes]),
        details=details,
        resource_refs=tuple(file.path for file in (*images, *files)),
        images=tuple(images),
        files=tuple(files),
    )


async def _picture(call: ToolCall, index: int, part: Picture, save_file: SaveFile) -> StoredFile | ImageProblem:
    image = await asyncio.to_thread(normalise_image, part.data)
    if isinstance(image, ImageProblem):
        return image
    stored = save_file(call, index, image.data, image.mime_type, SUFFIXES[image.mime_type])
    return stored.model_copy(update={"width": image.width, "height": image.height})
