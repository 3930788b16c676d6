"""All walks of up to three hops of every node, in NumPy."""

import peer

np = peer.require("numpy")

from walk_arrays import walks

peer.serve(f"numpy {np.__version__}", lambda arrays: walks(np, arrays))
