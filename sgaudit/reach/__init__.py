"""
Exact pairwise reachability: pure computation on a snapshot, no I/O.

Nodes (judged interfaces) are numbered in the order of their addresses, and a set of nodes is a whole
number with one bit a node. A CIDR block is then one run of bits, a security group one number, and
the question "whom does this permission admit" costs the same for ten nodes as for ten thousand.
"""
