"""The HTML report: one file that opens anywhere, asks for nothing, and shows all there is to see."""
