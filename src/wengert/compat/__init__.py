"""What exists only because a program or a library says its name: PyTorch's private modules, old forms, other devices' queues.

The highest package beside ``cli``: nothing else imports it. ``names.homes.MOVED`` says which name of PyTorch's leads here.
"""
