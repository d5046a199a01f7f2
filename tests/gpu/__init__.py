"""Tests on a GPU. A package, so its files may have the names of files in other folders."""
