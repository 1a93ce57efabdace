"""Results that show themselves in a notebook. How they look is settled four floors up, in `show/notebook.py`."""

from importlib import import_module

HOME = "onepath.show.notebook"
"""Asked for by its name, and only by notebooks: no import leads upwards, and none costs a fit its time."""


class InNotebooks:
    """What Jupyter, and pages made from notebooks, show as HTML."""

    def _repr_html_(self) -> str | None:
        """As HTML; None where there is nothing to show but the text that `repr` gives."""
        found: str | None = import_module(HOME).as_html(self)
        return found
