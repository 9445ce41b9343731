"""An operator that is begun: its entry, oracle, kernels and test as skeletons. No target of `diopigen generate`."""
