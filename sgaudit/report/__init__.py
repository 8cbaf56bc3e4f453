"""Findings and matrices as text: one format a file, written out in `FORMATS` of each command."""
