"""Sets symbols, one `NAME=value` an argument, and prints Kconfig's result, one `NAME=value` a line."""
import sys
import warnings

import kconfiglib

kconf = kconfiglib.Kconfig("Kconfig", warn_to_stderr=False)
for argument in sys.argv[1:]:
    name, value = argument.split("=", 1)
    kconf.syms[name].set_value(value)
for name, symbol in sorted(kconf.syms.items()):
    if symbol.nodes:
        print(f"{name}={symbol.str_value}")
for warning in kconf.warnings:
    print(f"warning: {warning}")
