"""k nearest other points by SciPy's tree: build and query."""

import peer

scipy = peer.require("scipy")
spatial = peer.require("scipy.spatial")


def run(arrays):
    points = arrays["positions"]
    k = int(arrays["k"][0])
    # Without compacting and balancing, build and query together are quickest.
    tree = spatial.cKDTree(points, compact_nodes=False, balanced_tree=False)
    _, indices = tree.query(points, k=k + 1, workers=peer.THREADS)
    return {"neighbors": indices}


peer.serve(f"scipy {scipy.__version__}", run)
