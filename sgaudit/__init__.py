"""Exact pairwise reachability of a training cluster on EC2, and the least change that cures it."""

__version__ = "0.1.0"

__all__ = ["__version__"]
