"""How strong the suite is: faults are planted into a library that passes, and the suite must find them."""
