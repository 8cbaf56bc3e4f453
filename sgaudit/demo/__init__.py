"""
`sgaudit demo`: a broken cluster in an embedded AWS on loopback, and the real commands run on it.

The embedded AWS is moto, which comes with the extra `demo`. Nothing leaves the machine, and no credentials
of the user are read.
"""
