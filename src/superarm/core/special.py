"""The functions of ``scipy.special`` in use here. The first call of one imports ``scipy.special``.

That import takes longer than all others together, and many programs that import superarm, such as
most commands, call none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _late(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = None

    def function(*args: Any, **options: Any) -> Any:
        nonlocal found
        if found is None:
            import scipy.special

            found = getattr(scipy.special, name)
        return found(*args, **options)

    function.__name__ = function.__qualname__ = name
    return function


bdtr = _late("bdtr")
bdtrc = _late("bdtrc")
betainc = _late("betainc")
betaincinv = _late("betaincinv")
betaln = _late("betaln")
expit = _late("expit")
gammaln = _late("gammaln")
log_expit = _late("log_expit")
log_ndtr = _late("log_ndtr")
logit = _late("logit")
logsumexp = _late("logsumexp")
ndtr = _late("ndtr")
ndtri = _late("ndtri")
ndtri_exp = _late("ndtri_exp")
rel_entr = _late("rel_entr")
stdtrit = _late("stdtrit")
xlog1py = _late("xlog1py")
xlogy = _late("xlogy")
