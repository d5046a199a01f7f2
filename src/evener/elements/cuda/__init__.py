"""The CUDA element: memory, streams, kernel launches, compilation and device errors."""
