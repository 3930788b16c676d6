"""The renderer in torch, every sample visited: nearest particles by CuPy's KD-tree or torch.cdist, then the field."""

import torch_peers
from field_torch import colors, sample_points

torch = torch_peers.torch

CHUNK_RAYS = 256


def make_peers(arrays):
    positions, features = arrays["positions"], arrays["features"]
    near, far, samples, k, empty_radius = arrays["numbers"].flatten().tolist()
    samples, k = int(samples), int(k)
    kernels = arrays["radii"], arrays["bandwidths"]
    field_type = torch.bfloat16 if arrays["bf16"].item() else torch.float32
    layers = [(arrays[f"w{i}"].to(field_type), arrays[f"b{i}"].flatten().to(field_type)) for i in (1, 2, 3)]
    steps = near + (torch.arange(samples, device=torch_peers.DEVICE) + 0.5) * ((far - near) / samples)

    def picture(nearest, origins, directions):
        distances = steps.expand(origins.shape[0], -1)
        points = sample_points(origins, directions, distances)
        return colors(layers, kernels, (far, empty_radius), (positions, features), nearest(points), points, distances)

    def in_chunks(make_nearest):
        def run():
            nearest = make_nearest()
            rays = zip(arrays["origins"].split(CHUNK_RAYS), arrays["directions"].split(CHUNK_RAYS))
            return torch.cat([picture(nearest, *chunk) for chunk in rays])

        return run

    def by_distances():
        return lambda points: torch.cdist(
            points, positions, compute_mode="donot_use_mm_for_euclid_dist").topk(k, largest=False).indices

    def with_cupy():
        import cupy
        from cupyx.scipy.spatial import KDTree

        held = cupy.from_dlpack(positions)

        def make_nearest():
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                tree = KDTree(held)

            def nearest(points):
                with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                    _, index = tree.query(cupy.from_dlpack(points), k=k)
                    return torch.from_dlpack(index)

            return nearest

        return in_chunks(make_nearest)

    return {"torch": lambda: in_chunks(by_distances), "torch+cupy": with_cupy}


with torch_peers.torch.inference_mode():
    torch_peers.serve(make_peers)
