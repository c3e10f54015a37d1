"""Memory: ``report`` says who holds it over a training step; the planner of ``utils.checkpoint`` fits a step into less.

>>> import wengert as torch
>>> import wengert.memory
>>> model = torch.nn.Linear(100, 100)
>>> step = lambda: model(torch.ones(50, 100)).sum().backward()
"""
