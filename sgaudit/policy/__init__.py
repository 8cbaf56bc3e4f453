"""
What a cluster needs from its network, and what it must not have.

`load` reads a policy file, `resolve` turns its needs into requirements between members. Neither YAML nor
pydantic is imported before a policy is read.
"""
