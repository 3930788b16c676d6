"""Builds the package; everything that is fixed stands in pyproject.toml.

The messages of proto/ are generated here, by protoc and grpc_python_plugin (Debian: protobuf-compiler,
protobuf-compiler-grpc). A source distribution holds them, so that only a checkout needs the compilers. Code of protoc 3.20
to 3.25 runs with every newer protobuf of Python; code of later compilers refuses older ones, such as Debian's.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PROTO = HERE.parent / "proto"
GENERATED = "interlacer"
RETRY = "service_config.json"


def compiler(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        sys.exit(f"error: {program} is not there; on Debian: apt-get install protobuf-compiler protobuf-compiler-grpc")
    return path


def compilers() -> "tuple[str, str]":
    protoc = compiler("protoc")
    said = subprocess.run([protoc, "--version"], check=True, capture_output=True, text=True).stdout
    version = [int(number) for number in re.findall(r"\d+", said)[:2]]
    # 3.20, 3.21, then 22 to 25 without the leading 3.
    if not (version[0] == 3 and version[1] >= 20 or 22 <= version[0] <= 25):
        sys.exit(f"error: protoc: expected 3.20 to 3.21 or 22 to 25, got {said.strip()}; see setup.py")
    return protoc, compiler("grpc_python_plugin")


def generate(out: Path) -> None:
    """Messages of interlacer/v1, and copies of google.rpc and of the health service in a namespace of ours: other
    packages bring theirs, and Python keeps one message of a name in a process."""
    protoc, plugin = compilers()
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        shutil.copytree(PROTO / "interlacer", stage / "interlacer")
        (stage / "interlacer/rpc").mkdir()
        for name in ("google/rpc/status", "google/rpc/error_details", "grpc/health/v1/health"):
            text = (PROTO / "third_party" / f"{name}.proto").read_text()
            text = re.sub(r"^package [a-z0-9.]+;", "package interlacer.rpc;", text, flags=re.M)
            (stage / "interlacer/rpc" / f"{Path(name).name}.proto").write_text(text)
        protos = sorted(str(path.relative_to(stage)) for path in stage.rglob("*.proto"))
        service = [proto for proto in protos if proto.endswith("_service.proto")]
        subprocess.run([protoc, "-I.", f"--python_out={out}", f"--pyi_out={out}", *protos], check=True, cwd=stage)
        subprocess.run([protoc, "-I.", f"--plugin=protoc-gen-grpc={plugin}", f"--grpc_out={out}", *service], check=True,
                       cwd=stage)


def add_generated(out: Path) -> None:
    """Puts what is not a file of this folder below `out`: generated here, or kept in a source distribution."""
    if PROTO.is_dir():
        out.mkdir(parents=True, exist_ok=True)
        generate(out.resolve())
        shutil.copy(HERE.parent / "client" / RETRY, out / "interlacer_client" / RETRY)
    else:
        shutil.copytree(HERE / GENERATED, out / GENERATED, dirs_exist_ok=True)
        shutil.copy(HERE / "interlacer_client" / RETRY, out / "interlacer_client" / RETRY)


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        add_generated(Path(self.build_lib))


class Sdist(sdist):
    def make_release_tree(self, base_dir: str, files: "list[str]") -> None:
        super().make_release_tree(base_dir, files)
        add_generated(Path(base_dir))


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
