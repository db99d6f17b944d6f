"""Check what a store says of itself before anything is made of it: its manifest, and the layout of its arrays."""
