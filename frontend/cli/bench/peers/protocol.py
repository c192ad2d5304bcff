"""Answers the requests of `tilewright bench`: the first half of the script of each peer in Python; the second defines its Library.

A request is a line of JSON on standard input, the answer a line "@ok VALUE" or "@no REASON" on standard output. A Library has
    open(device, threads, ieee) -> the text of its version
    backend: the name of the implementation that it is to call, or "" for its own choice; set before open
    load(path, element type, shape) -> an array
    save(array, element type, path)
    kernels: {name: function(arrays by name, shape) -> a function that runs the kernel once and returns its result, or a tuple of them}
    time(function, launches) -> milliseconds of all launches
"""
import json
import os
import sys


def refuse(error):
    text = str(error).strip() or type(error).__name__
    return "@no " + text.splitlines()[0][:300]


class Server:
    def __init__(self, peer):
        self.peer = peer
        self.run = None

    def open(self, request):
        self.peer.backend = request["backend"]
        return self.peer.open(request["device"], request["threads"], request["ieee"])

    def prepare(self, request):
        kernel = self.peer.kernels.get(request["kernel"])
        if kernel is None:
            raise RuntimeError("it has no " + request["kernel"])
        self.run = None  # frees the arrays of the last one
        arrays = {t["name"]: self.peer.load(t["file"], t["type"], t["shape"]) for t in request["tensors"]}
        self.types = {t["name"]: t["type"] for t in request["tensors"]}
        self.run = kernel(arrays, request["shape"])
        return ""

    def time(self, request):
        return "%.9g" % (self.peer.time(self.run, request["launches"]) / request["launches"])

    def results(self, request):
        results = self.run()
        if not isinstance(results, tuple):
            results = (results,)
        if len(results) != len(request["files"]):
            raise RuntimeError("it has %d results and not %d" % (len(results), len(request["files"])))
        for array, to in zip(results, request["files"]):
            self.peer.save(array, self.types[to["name"]], to["file"])
        return ""

    def serve(self):
        answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what libraries print is not an answer
        for line in sys.stdin:
            request = json.loads(line)
            try:
                value = getattr(self, request["do"])(request)
                answers.write(("@ok " + value).rstrip() + "\n")
            except Exception as error:
                answers.write(refuse(error) + "\n")
