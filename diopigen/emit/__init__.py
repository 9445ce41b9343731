"""From the typed model to files in memory: one package for each target, named as its folder in templates/.

A module with `TARGET` and `emit` is a target of `diopigen generate`. What several targets share is in
modules of this package.
"""
