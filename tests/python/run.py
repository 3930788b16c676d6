"""run.py debian|pypi --wheel=FILE --cache=DIR --work=DIR --interlacer=FILE --server=FILE --checkpoint=DIR

Installs the wheel into an environment made for it, offline, so that pip checks what it needs; then runs the tests beside
this file there. debian: the environment sees the interpreter's own packages. pypi: it sees the pinned newest packages of
scripts/wheels/python-client.txt alone. Exit code 77: something that scripts/setup installs is not there.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

MAX_WHEEL_BYTES = 100_000
SKIPPED = 77


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("packages", choices=["debian", "pypi"])
    parser.add_argument("--wheel", default="")
    for name in ("cache", "work", "interlacer", "server", "checkpoint"):
        parser.add_argument("--" + name, required=True, type=Path)
    return parser.parse_args()


def skip(why):
    print(f"skipped: {why}; scripts/setup installs it")
    sys.exit(SKIPPED)


def environment(folder, sees_system, extra_paths):
    """Interpreter of a new environment that sees the extra paths too."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, system_site_packages=sees_system, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "given.pth").write_text("".join(f"{path}\n" for path in extra_paths))
    return folder / "bin/python"


def check_wheel(wheel):
    """Pure, small, and with what it promises."""
    size = wheel.stat().st_size
    assert size < MAX_WHEEL_BYTES, f"the wheel has {size} bytes, at most {MAX_WHEEL_BYTES} are wanted"
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        metadata = files.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert "interlacer_client/py.typed" in names and "interlacer/v1/types_pb2.pyi" in names, names
    assert not [name for name in names if name.endswith((".so", ".pyc"))], names
    needs = sorted(re.sub(r"[ ()]", "", need) for need in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M))
    assert [need.split(">=")[0] for need in needs] == ["grpcio", "numpy", "protobuf"] and "<" not in "".join(needs), needs
    print(f"{wheel.name}: {size} bytes, needs {', '.join(needs)}")


def main():
    options = parse()
    if not options.wheel:
        skip("no wheel was built: pip, setuptools or wheel is missing")
    given = [options.cache / "pytest"] + ([options.cache / "python-client"] if options.packages == "pypi" else [])
    for path in given:
        if not path.is_dir():
            skip(f"{path} is missing")
    python = environment(options.work / "venv", options.packages == "debian", given)
    if subprocess.run([python, "-c", "import grpc, google.protobuf, numpy, pytest"], capture_output=True).returncode != 0:
        skip(f"the Python packages of {options.packages}, grpcio, protobuf or numpy, are missing")
    check_wheel(Path(options.wheel))
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python, "install",
                    "--no-index", options.wheel], check=True)
    variables = {**os.environ, "TEST_INTERLACER": str(options.interlacer), "TEST_SERVER": str(options.server),
                 "TEST_CHECKPOINT": str(options.checkpoint), "PYTHONDONTWRITEBYTECODE": "1"}
    variables.pop("PYTHONPATH", None)
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={options.work / 'tmp'}"]
    sys.exit(subprocess.run([*tests, Path(__file__).parent], env=variables).returncode)


main()
