"""What a transition law is: from drift and diffusion near a point to the Gaussian of an increment."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array, Float

from onepath.gp.jets import Jet

Gaussian = tuple[Float[Array, " d"], Float[Array, "d d"]]


@dataclass(frozen=True)
class Law(ABC):
    """Mean and covariance of an increment over Δt. A new law is a subclass; `SDE(transition=Law())` takes it as it is.

    Laws without fields are alike; fields of a law with parameters must be hashable.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    """Derivatives of drift and diffusion that it uses: 0 or 2."""

    couples: ClassVar[bool]
    """Whether anything but f_i enters the mean of coordinate i, or anything but σ the covariance."""

    longest: ClassVar[float]
    """`|f'| Δt` up to which it is good."""

    beyond: ClassVar[str]
    """What longer steps do to the answer, as a sentence without its stop."""

    def __init_subclass__(cls) -> None:
        """Refuse a law that does not say what it is, where it is written."""
        missing = [name for name in ("name", "order", "couples", "longest", "beyond") if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"The law {cls.__name__} does not say its {', '.join(missing)}; `Law` says what they are.")

    @abstractmethod
    def gaussian(self, drift: Jet, diffusion: Jet, dt: Float[Array, ""]) -> Gaussian:
        """For one transition; the diffusion is (d, d)."""
