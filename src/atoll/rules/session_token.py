"""Session tokens: temporary credentials, encrypted into their own token.

Temporary credentials are kept nowhere: the token carries them, sealed with a key that only the processes of the world have
(AES-256-GCM, NIST SP 800-38D). So any region can check a token that another one gave out, at once and without a look-up.
"""

from __future__ import annotations

from base64 import b32encode, b64decode, b64encode
from binascii import Error as NotBase64

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from atoll.domain.caller import CallerKind
from atoll.domain.errors import ApiError

KEY_BYTES = 32
NONCE_BYTES = 12  # SP 800-38D 8.2.2: random nonces of 96 bits serve 2**32 tokens per key
TOKEN_MAX_CHARS = 16_384  # longer ones are not ours; a token travels in one header
TEMPORARY = "ASIA"  # how the access key ids of temporary credentials begin
UNIQUE_ID_BYTES, SECRET_BYTES = 10, 30
_PURPOSE = b"atoll session 1"  # authenticated with every token, so that a token is never taken for something else


class Session(msgspec.Struct, frozen=True, omit_defaults=True):
    """Temporary credentials and whose they are. `name`: of the role or the user ("" for root); `session`: RoleSessionName.

    `user_id` is the unique id of role, user or account: a namesake that is made later is somebody else. Times in seconds
    since 1970. `session_policy` is JSON text or ""; `tags` are the session's own, without those of the role. `account` ""
    is the world's first one: tokens from before there were others say nothing.
    """

    access_key: str
    secret: str
    kind: CallerKind
    user_id: str
    issued: int
    expires: int
    name: str = ""
    session: str = ""
    session_policy: str = ""
    tags: dict[str, str] = {}
    account: str = ""


def unique_id(prefix: str, random: bytes) -> str:
    """An id in AWS's form, ASIA... or AIDA...: the prefix and 16 letters and digits out of UNIQUE_ID_BYTES."""
    assert len(random) == UNIQUE_ID_BYTES
    return prefix + b32encode(random).decode()


def secret_key(random: bytes) -> str:
    """A secret access key in AWS's form: 40 characters out of SECRET_BYTES."""
    assert len(random) == SECRET_BYTES
    return b64encode(random).decode()


def encrypt_session(session: Session, *, key: bytes, nonce: bytes) -> str:
    """The token. `nonce`: NONCE_BYTES that were never used with this key."""
    assert len(key) == KEY_BYTES
    assert len(nonce) == NONCE_BYTES
    return b64encode(nonce + AESGCM(key).encrypt(nonce, msgspec.json.encode(session), _PURPOSE)).decode()


def decrypt_session(token: str, *, key: bytes) -> Session:
    """Raises InvalidToken for anything that `encrypt_session` did not make with this key. Does not look at the time."""
    if len(token) > TOKEN_MAX_CHARS:
        raise _invalid()
    try:
        ciphertext = b64decode(token, validate=True)
        plain = AESGCM(key).decrypt(ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], _PURPOSE)
        return msgspec.json.decode(plain, type=Session)
    except (NotBase64, ValueError, InvalidTag, msgspec.DecodeError) as error:
        raise _invalid() from error


def _invalid() -> ApiError:
    return ApiError("InvalidToken", "The provided token is malformed or otherwise invalid.")
