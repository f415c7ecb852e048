"""Coverage-guided fuzzing of the readers, with atheris: ``python fuzz/readers.py json [libFuzzer options]``.

The first argument is a folder of the corpus, which says what is read. Inputs are damaged in two ways, by libFuzzer's
own changes of bytes and by changes that keep a file's shape; whatever is not read or refused as damaged stops the run
and leaves the file behind.
"""

import random
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

with atheris.instrument_imports(include=["arborshap", "json"]):
    from support.mutation import mutated
    from support.readers import read_model, read_saved


def main() -> None:
    """Fuzz one reader."""
    folder, *options = sys.argv[1:]
    read = read_saved if folder == "saved" else read_model

    def test_one_input(data: bytes) -> None:
        read(data)

    def damage(data: bytes, max_size: int, seed: int) -> bytes:
        changed = atheris.Mutate(data, max_size) if seed % 3 == 0 else mutated(folder, data, random.Random(seed))
        return changed[:max_size]

    # What libFuzzer finds worth keeping goes into a folder of its own, beside the seeds.
    with tempfile.TemporaryDirectory() as found:
        seeds = str(ROOT / "tests" / "corpus" / folder)
        atheris.Setup(
            [sys.argv[0], found, seeds, "-max_len=6000", "-timeout=10", "-rss_limit_mb=2048", *options],
            test_one_input,
            custom_mutator=damage,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
