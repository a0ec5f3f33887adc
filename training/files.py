"""Writing files so that a reader sees the old content or the new one, never a half of either; see `sixnimmt_env.core.files`."""

from sixnimmt_env.core.files import TEMP_SUFFIX, write_atomically

__all__ = ["TEMP_SUFFIX", "write_atomically"]
