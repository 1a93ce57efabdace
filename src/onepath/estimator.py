"""scikit-learn's contract of an estimator, kept without loading scikit-learn, which takes longer than a fit."""

import inspect
from functools import cache
from typing import Any, ClassVar, Self


class NotFitted(ValueError, AttributeError):
    """What scikit-learn calls NotFittedError, where it is not installed."""


def _not_fitted() -> type[Exception]:
    try:
        from sklearn.exceptions import NotFittedError
    except ModuleNotFoundError:
        return NotFitted
    return NotFittedError


class Estimator:
    """Settings are the constructor's parameters by name; what ends in an underscore is there after `fit`."""

    _KEPT_AS: ClassVar[dict[str, str]] = {}
    """Attributes of those settings that cannot be kept under their own name."""

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn's signature)
        """The constructor's parameters by name.

        Parameters
        ----------
        deep : bool
            Nothing here; scikit-learn passes it.

        Returns
        -------
        dict
            What each was set to.
        """
        return {name: getattr(self, self._KEPT_AS.get(name, name)) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set some of the constructor's parameters.

        Parameters
        ----------
        **params : anything
            New values by name.

        Returns
        -------
        Estimator
            Itself.
        """
        for name, value in params.items():
            if name not in self._defaults():
                known = ", ".join(self._defaults())
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}. Its parameters are {known}.")
            setattr(self, self._KEPT_AS.get(name, name), value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        settings = sorted((name, repr(value)) for name, value in self.get_params().items())
        chosen = [f"{name}={value}" for name, value in settings if value != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(chosen)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to its end."""
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks before it works with an estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=None,
            input_tags=InputTags(),
        )

    def _check_fitted(self) -> None:
        """Refuse to answer before `fit`."""
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"This {type(self).__name__} is not fitted yet. Call fit, then ask again.")
