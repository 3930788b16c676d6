"""Structural similarity by torchmetrics, its map cut to the windows that lie inside the image."""

import torch_peers

torch = torch_peers.torch
BORDER = 5


def make_peers(arrays):
    image, truth = (arrays[name].permute(2, 0, 1)[None].float() for name in ("image", "truth"))

    def torchmetrics():
        from torchmetrics.functional.image import structural_similarity_index_measure as score

        def run():
            _, full = score(image, truth, sigma=1.5, kernel_size=11, data_range=255.0, return_full_image=True)
            return full[..., BORDER:-BORDER, BORDER:-BORDER].mean()

        return run

    return {"torchmetrics": torchmetrics}


torch_peers.serve(make_peers)
