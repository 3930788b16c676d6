"""Structural similarity by scikit-image with the settings of Wang et al. 2004."""

import peer

np = peer.require("numpy")
skimage = peer.require("skimage")
metrics = peer.require("skimage.metrics")


def run(arrays):
    score = metrics.structural_similarity(
        arrays["image"], arrays["truth"], gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
        data_range=255, channel_axis=-1)
    return {"score": np.array([score])}


peer.serve(f"scikit-image {skimage.__version__}", run)
