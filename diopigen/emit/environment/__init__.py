"""Variables of the environment: the page that lists them, and the table that C++ reads."""
