"""The operator reference as a static site: pages from the interface and from facts that the caller brings along.

No module here is a target of `diopigen generate`; the command `diopigen docs` writes the plan of `pages.site`.
"""
