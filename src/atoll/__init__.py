"""Atoll: S3 regions, replication and one global endpoint, near everywhere."""

__version__ = "0.1.0"
