"""The default detector of an enforcer: the embedded reader says what kind of message a
prompt is.
"""

from __future__ import annotations

from ..base.errors import ModelError
from ..reading import readers
from .grounding.detection import Detection, detection


def detect(prompt: str) -> Detection:
    """Say whether a prompt asks a question, such as memory may answer.

    It asks where it has a question mark or the embedded reader says so, and where it is no task,
    instruction, acknowledgement or pasted output. It does not tell a question about the world from
    one about what was said: both ask.

    Args:
        prompt: The words of the user or an agent. Any text, of any length; the reader reads its
            beginning.

    Returns:
        The decision and why. Where the reader is not here, or fails, the question mark decides, and
        the reason says so.
    """
    if not readers.is_here():
        return detection(prompt, None)
    try:
        return detection(prompt, readers.embedded_reader().kinds([prompt])[0])
    except ModelError:
        return detection(prompt, None)
