"""A world in memory, and a way to ask its IAM."""

import asyncio
import hashlib

from atoll.control_store import ControlStore
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.caller import Caller
from atoll.domain.http_message import EMPTY, Request
from atoll.rules.policy.validate import check_identity_policy, check_trust_policy
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.operations import OPERATIONS

ACCOUNT = "111122223333"
NOW = 1_800_000_000.5


class RandomBytes:
    """Bytes that are never the same twice and always the same in the next run."""

    def __init__(self) -> None:
        self.rolls = 0

    def __call__(self, n: int) -> bytes:
        self.rolls += 1
        return hashlib.shake_128(str(self.rolls).encode()).digest(n)


class World:
    def __init__(self) -> None:
        self.state = ControlStore.memory()
        self.random_bytes = RandomBytes()
        self.deps = Dependencies(self.state, self.random_bytes, check_identity_policy, check_trust_policy)
        self.root_record = asyncio.run(create_root_account(self.state, account=ACCOUNT, random_bytes=self.random_bytes, now=NOW))
        self.identities = Identities(self.state, self.random_bytes)

    @property
    def root(self) -> Caller:
        return self.identities.key(self.root_record.access_key, "", NOW).caller

    def call(self, operation: str, caller: Caller | None = None) -> Call:
        return Call(
            service="iam",
            operation=operation,
            request=Request("POST", "/", {}),
            caller=caller or self.root,
            now=NOW,
            region="us-east-1",
            account=ACCOUNT,
            request_id="r",
            body=EMPTY,
            allow=lambda action, resource: None,
            may=lambda action, resource: True,
        )

    def ask(self, operation: str, caller: Caller | None = None, **members: object) -> OperationOutput:
        return asyncio.run(OPERATIONS[operation](self.deps, self.call(operation, caller), **members))

    def user(self, name: str, **members: object) -> Caller:
        """A new user, as a caller with a key of its own."""
        self.ask("CreateUser", UserName=name, **members)
        key = self.ask("CreateAccessKey", UserName=name).members["AccessKey"]
        return self.identities.key(key["AccessKeyId"], "", NOW).caller
