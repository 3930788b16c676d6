"""All walks of up to three hops of every node with whole-array operations."""


def walks(np, arrays):
    """The prefixes, and merged by end node if `merge` is set. `np` is NumPy or CuPy."""
    neighbors = arrays["neighbors"]
    n, k = neighbors.shape
    one = neighbors
    two = neighbors[one].reshape(n, k * k)
    three = neighbors[two].reshape(n, k * k * k)
    ends = np.concatenate([np.arange(n, dtype=np.int32)[:, None], one, two, three], axis=1)
    if not arrays["merge"][0]:
        return {"ends": ends}
    # One sort key a prefix: root, end node, hops. Runs of equal keys are counts.
    hops = np.repeat(np.arange(4), [1, k, k * k, k * k * k])
    keys = ((np.arange(n, dtype=np.int64)[:, None] * n + ends) * 4 + hops).ravel()
    keys.reshape(n, -1).sort(axis=1)
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    lengths = np.diff(starts, append=keys.size)
    pairs = keys[starts] >> 2
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    row = np.cumsum(np.diff(pairs, prepend=-1) != 0) - 1
    counts = np.zeros((first.size, 4), dtype=np.int32)
    counts[row, keys[starts] & 3] = lengths
    pairs = pairs[first]
    offsets = np.searchsorted(pairs, np.arange(n + 1, dtype=np.int64) * n)
    return {"offsets": offsets, "nodes": pairs % n, "counts": counts}
