"""A strict HTML parser for tests of report pages."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page in order. Unmatched tags and external references are errors.

    Attributes
    ----------
    elements : list of (tag, attributes, path)
        The path names the enclosing elements, outermost first.
    titles : list of str
        The tooltips in pictures.
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.titles, self.words = [], [], []
        self._open = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        assert len(named) == len(attrs), f"{tag} names an attribute twice"
        assert not {"src", "href", "xlink:href", "action", "data"} & set(named)
        self.elements.append((tag, named, tuple(self._open)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] == ["title"] and "g" in self._open:
            self.titles.append(data)
        elif self._open and self._open[-1] not in {"style", "script"}:
            self.words.append(data)

    def handle_decl(self, decl):
        assert decl == "doctype html"

    def all(self, tag, kind=None):
        """Return the attributes of all elements with a tag and a class."""
        return [
            named for name, named, _ in self.elements if name == tag and kind in {None, named.get("class")}
        ]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def share(percent):
    """Convert text such as "12.5%" to a number."""
    assert percent.endswith("%")
    return float(percent[:-1]) / 100
