"""The page: what a person sees and decides in a browser. Rendered here, over the same calls as programs use."""
