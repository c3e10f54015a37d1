from collections import defaultdict


class Logger:
    def __init__(self):
        self.history = defaultdict(list)

    def log(self, **values):
        for name, value in values.items():
            self.history[name].append(value)  # expect: graph-leak

    def show(self):
        for name, rows in self.history.items():
            print(name, sum(float(v) for v in rows) / len(rows))
