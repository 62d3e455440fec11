"""Reads keychains from the format documents in the folder above.

It is written from the documents and their vectors alone, so that it shows
whether they are enough. It never writes to a keychain.
"""
