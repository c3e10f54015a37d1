"""What ``gradcheck`` is made of: differences (``problem``), the two modes, and the verdict on a mismatch."""
