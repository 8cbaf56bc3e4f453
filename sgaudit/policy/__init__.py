"""
What a cluster needs from its network, and what it must not have.

`load` reads a policy file, `resolve` turns its needs into requirements between members. This package
itself imports nothing: YAML and pydantic are paid for by whoever imports `sgaudit.policy.load`'s work.
"""
