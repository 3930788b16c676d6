"""The child's side of bench/child_peer.h: arrays in, timed runs, arrays out.

Lines of the parent:  array NAME TYPE SIZE...  (raw bytes follow) | run | fetch NAME
Lines of the child:   ready VERSIONS | missing: WHY | ms MILLISECONDS | error: WHY | f8 COUNT  (raw bytes follow)
"""

import ctypes
import importlib
import os
import signal
import sys
import time

# A parent that is killed takes its peer along, whatever that computes: it would disturb the next timing.
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(THREADS)

_out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # whatever a library prints must not reach the parent


def _say(line):
    _out.write(line.encode() + b"\n")
    _out.flush()


def miss(why):
    """Ends the child with the reason why it cannot be a peer."""
    _say(f"missing: {why}".replace("\n", " "))
    sys.exit(0)


def require(module):
    """The module; without it the peer says so and ends."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        miss(error)


def serve(version, run):
    """Answers the parent until it closes its end. `run` maps arrays by name to results by name.

    A result "ms" is the time that counts, for work that is not over when `run` returns; else the call is timed.
    """
    import numpy

    _say(f"ready {version}")
    arrays, results = {}, {}
    source = sys.stdin.buffer
    for line in iter(source.readline, b""):
        verb, *words = line.decode().split()
        try:
            if verb == "array":
                name, kind, shape = words[0], numpy.dtype(words[1]), [int(word) for word in words[2:]]
                count = int(numpy.prod(shape))
                arrays[name] = numpy.frombuffer(source.read(count * kind.itemsize), kind).reshape(shape)
            elif verb == "run":
                start = time.perf_counter()
                results = dict(run(arrays))
                _say(f"ms {results.pop('ms', 1e3 * (time.perf_counter() - start))}")
            elif verb == "fetch":
                values = numpy.ascontiguousarray(results[words[0]], dtype="<f8")
                _say(f"f8 {values.size}")
                _out.write(values.tobytes())
                _out.flush()
        except Exception as error:
            _say(f"error: {error!r}".replace("\n", " "))
