"""Write a release to the directory that was claimed for it."""

from __future__ import annotations

from ..report import ReleaseReport
from ..report._directory import Directory

__all__ = ["write"]


def write(report: ReleaseReport, directory: Directory) -> list[str]:
    """Write a release, the most important files first, and move it into place.

    Parameters
    ----------
    report : ReleaseReport
    directory : Directory
        Files of an earlier release in it are replaced or removed.

    Returns
    -------
    list of str
        The names of the files.

    Raises
    ------
    OSError
        If a file could not be written. The others are left apart, and nothing was replaced.
    """
    lost = []
    for name, content in report._files().items():
        try:
            directory.add(name, content)
        except Exception as error:
            lost.append(f"{name} ({getattr(error, 'strerror', None) or type(error).__name__})")
    if lost:
        raise OSError(f"not written: {', '.join(lost)}")
    return directory.publish()
