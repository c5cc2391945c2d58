"""Another process than that of ``kernels_program``: runs what that wrote, and writes what came of
it, also of kernels that went on from here."""

import pickle
import sys
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("runs_of_kernels", sys.argv[1])
program = module_from_spec(spec)
spec.loader.exec_module(program)

with open(sys.argv[2], "rb") as file:
    sent = pickle.load(file)
results = {}
for name, (data, _) in sent.items():
    kernel = pickle.loads(data)
    first = program.result_of(kernel)
    again = pickle.loads(data)
    results[name] = first, again is kernel, program.result_of(pickle.loads(pickle.dumps(kernel)))
with open(sys.argv[2], "wb") as file:
    pickle.dump(results, file)
