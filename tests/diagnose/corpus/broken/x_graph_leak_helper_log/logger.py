class Logger:
    def __init__(self):
        self.rows = []

    def record(self, step, **values):
        self.rows.append({"step": step, **values})  # expect: graph-leak

    def last(self, key):
        return float(self.rows[-1][key])
