"""markup.py - HTML that is right by construction: whatever is not the result of tag() or
join() is text, and is escaped."""
from html import escape


class Html(str):
    """Text that is markup already."""


def html(value):
    return value if isinstance(value, Html) else Html(escape(str(value)))


def join(parts, between=""):
    return Html(html(between).join(html(part) for part in parts if part is not None))


def tag(name, *inside, **attributes):
    """<name attributes>inside</name>. An attribute's _ is a -; the one at the end of
    class_ is left out. None as an attribute or a part leaves it out."""
    named = {key.rstrip("_").replace("_", "-"): v for key, v in attributes.items()}
    text = "".join(f' {key}="{escape(str(v))}"' for key, v in named.items()
                   if v is not None)
    return Html(f"<{name}{text}>{join(inside)}</{name}>")


def region(name, *inside, kind="div", class_=""):
    """What scrolls sideways in a narrow window; a keyboard reaches it."""
    return tag(kind, *inside, class_=f"scroll {class_}".strip(), tabindex=0,
               role="region", aria_label=name)
