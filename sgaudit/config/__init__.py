"""
What users write down: the configuration file `sgaudit.yaml`, and the baseline of findings known before.

YAML is imported only when there is a file to read.
"""
