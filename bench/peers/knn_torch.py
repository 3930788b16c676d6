"""k nearest other points on a CUDA device: torch.cdist with topk in chunks, and CuPy's KD-tree; build and query."""

import torch_peers

torch = torch_peers.torch

CHUNK_ROWS = 4096


def make_peers(arrays):
    points = arrays["positions"]
    n, k = points.shape[0], int(arrays["k"][0])

    def by_distances():
        parts = []
        for begin in range(0, n, CHUNK_ROWS):
            rows = points[begin:begin + CHUNK_ROWS]
            distances = torch.cdist(rows, points, compute_mode="donot_use_mm_for_euclid_dist")
            own = torch.arange(begin, begin + rows.shape[0], device=torch_peers.DEVICE)
            distances[torch.arange(rows.shape[0], device=torch_peers.DEVICE), own] = torch.inf
            parts.append(distances.topk(k, largest=False).indices)
        return torch.cat(parts)

    def by_tree():
        import cupy
        from cupyx.scipy.spatial import KDTree

        held = cupy.from_dlpack(points)
        stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

        def run():
            with stream:
                _, indices = KDTree(held).query(held, k=k + 1)
                # The point itself is among its nearest, first but for coincident points.
                return torch.from_dlpack(indices)[:, 1:]

        return run

    return {"torch_cdist_topk": lambda: by_distances, "cupy_kdtree": by_tree}


torch_peers.serve(make_peers)
