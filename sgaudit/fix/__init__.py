"""The least change that cures a cluster: planned, proven on the snapshot, written out or applied, and undone."""
