"""Which calls are closed to temporary credentials, whatever policies say.

Source: STS API reference, "GetSessionToken"; IAM user guide, "Compare AWS STS credentials".
"""

from __future__ import annotations

from atoll.domain.caller import Caller
from atoll.domain.errors import ApiError
from atoll.rules.session_token import TEMPORARY

# What credentials of GetSessionToken may ask of STS.
STS_OPEN = frozenset(("AssumeRole", "GetCallerIdentity"))


def of_session_token(caller: Caller) -> bool:
    """Do these credentials come from GetSessionToken? A role's are from AssumeRole, and a user's or the root's own last."""
    return caller.kind in ("user", "root") and caller.access_key.startswith(TEMPORARY)


def check_session(caller: Caller, service: str, operation: str) -> None:
    """Nobody here has a second factor, so credentials of GetSessionToken call nothing of IAM: a session that leaked for an
    hour cannot be made into a key that lasts. Of STS they call STS_OPEN. Raises AccessDenied."""
    if not of_session_token(caller):
        return
    if service == "iam":
        raise ApiError("AccessDenied", f"Credentials of GetSessionToken that were made without MFA cannot call iam:{operation}.")
    if service == "sts" and operation not in STS_OPEN:
        raise ApiError("AccessDenied", f"Cannot call {operation} with session credentials")
