"""Phase two: selection, workspace, curation, rendering, publishing."""
