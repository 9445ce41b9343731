"""What measures the conformance suite itself: faults that it must find, and legal kernels that it must accept."""
