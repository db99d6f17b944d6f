"""Check the manifest of a store and the metadata of its arrays before they are used."""
