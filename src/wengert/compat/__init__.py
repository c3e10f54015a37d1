"""What exists only because programs or libraries say its name: PyTorch's private modules, old forms, queues of work.

The highest package beside ``cli``: what is below does not import it. ``names.homes.MOVED`` says which names lead here.
"""
