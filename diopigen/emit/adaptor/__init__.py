"""The shims of a vendor, and the composite operators among them."""
