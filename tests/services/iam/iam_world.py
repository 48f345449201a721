"""A world in memory, and a way to ask its IAM."""

import asyncio
import hashlib

from atoll.domain.call import Answer, Call
from atoll.domain.caller import Caller
from atoll.domain.message import EMPTY, Request
from atoll.rules.policy.validate import check_identity_policy, check_trust_policy
from atoll.services.iam.control import OPERATIONS
from atoll.services.iam.here import Here
from atoll.services.iam.making import create_world
from atoll.services.iam.plane import Identities
from atoll.state import State

ACCOUNT = "111122223333"
NOW = 1_800_000_000.5


class Dice:
    """Bytes that are never the same twice and always the same in the next run."""

    def __init__(self) -> None:
        self.rolls = 0

    def __call__(self, n: int) -> bytes:
        self.rolls += 1
        return hashlib.shake_128(str(self.rolls).encode()).digest(n)


class World:
    def __init__(self) -> None:
        self.state = State.memory()
        self.dice = Dice()
        self.here = Here(self.state, self.dice, check_identity_policy, check_trust_policy)
        self.root_record = asyncio.run(create_world(self.state, account=ACCOUNT, dice=self.dice, now=NOW))
        self.identities = Identities(self.state, self.dice)

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

    def ask(self, operation: str, caller: Caller | None = None, **members: object) -> Answer:
        return asyncio.run(OPERATIONS[operation](self.here, self.call(operation, caller), **members))

    def user(self, name: str, **members: object) -> Caller:
        """A new user, as a caller with a key of its own."""
        self.ask("CreateUser", UserName=name, **members)
        key = self.ask("CreateAccessKey", UserName=name).members["AccessKey"]
        return self.identities.key(key["AccessKeyId"], "", NOW).caller
