"""A vendor's tree as a whole: its sources, its library, its configuration, and what they amount to."""
