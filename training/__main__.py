"""`python -m training` is the command `sixnimmt`."""

from .cli import run

if __name__ == "__main__":
    run()
