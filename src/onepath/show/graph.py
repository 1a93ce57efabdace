"""The computational graph of a model, with what is beside it: what is read of a hidden state, jumps and such."""

from onepath.model import Model


def drawn(model: Model) -> str:
    """As an SVG document."""
    observed, law = model.observed, model.disturbance
    if observed is None:
        return model.graph.draw(more=law.drawing if law is not None and law.found else ())
    if observed.reading.order == 2:
        return model.graph.draw("xₙ read")
    return model.graph.draw("Zₙ" if observed.reading.exposure is None else "mean Zₙ")
