"""How strong the suite is: faults are injected into a library that passes, and the suite must find them."""
