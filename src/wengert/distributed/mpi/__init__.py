"""MPI: how processes find each other and start it, and what it does for them."""
