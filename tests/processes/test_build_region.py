import asyncio
import base64
import hashlib
import json
from urllib.parse import quote

from atoll.domain.caller import Caller
from atoll.domain.http_message import Body, Request
from atoll.domain.objects import Key, ObjectMetadata
from atoll.gateway.request_log import RequestIds
from atoll.object_store.disk.integrity_check import check
from atoll.processes import build_region
from atoll.processes.home_folder import Home
from atoll.rules.sigv4 import Credentials
from gateway.pipeline_setup import between, signed, text
from s3world import ACCOUNT, Ticks


class Region:
    """A region put together, asked by its root user."""

    def __init__(self, made):
        self.shared = made.shared
        self.root = Credentials(made.root.access_key, made.root.secret)
        self.gateway = build_region.gateway(made.shared, RequestIds())

    async def ask(self, method, target, body=b"", host="127.0.0.1", service="s3", headers=None):
        length = {"content-length": str(len(body))} if body else {}
        request = Request(method, target, {"host": host, **length, **(headers or {})}, Body.of(body))
        response = await self.gateway(signed(request, self.root, now=self.shared.clock.now(), region=self.shared.name, service=service))
        return response.status, await text(response)

    async def query(self, service, form):
        return await self.ask("POST", "/", form.encode(), service=service, headers={"content-type": "application/x-www-form-urlencoded"})


def scenario(make, steps, **settings):
    async def whole():
        made = await make(**settings)
        try:
            await steps(Region(made))
        finally:
            made.shared.state.close()

    asyncio.run(whole())


def test_all_four_services_answer(make):
    async def steps(region):
        assert (await region.ask("PUT", "/demo"))[0] == 200
        assert (await region.ask("GET", "/"))[1].count("<Name>demo</Name>") == 1
        assert between((await region.query("sts", "Action=GetCallerIdentity&Version=2011-06-15"))[1], "Account") == ACCOUNT
        assert between((await region.query("iam", "Action=CreateUser&Version=2010-05-08&UserName=ada"))[1], "UserName") == "ada"
        status, listed = await region.ask("GET", "/v20180820/mrap/instances", headers={"x-amz-account-id": ACCOUNT})
        assert (status, "ListMultiRegionAccessPointsResult" in listed) == (200, True)

    scenario(make, steps)


def test_a_control_operation_that_is_not_built_is_refused_by_its_name_in_its_own_form(make):
    async def steps(region):
        status, steps = await region.ask("GET", "/v20180820/jobs", headers={"x-amz-account-id": ACCOUNT})
        assert (status, "ListJobs" in steps, steps.count("<ErrorResponse>")) == (501, True, 1)

    scenario(make, steps)


def test_a_bucket_made_here_is_guarded_by_the_policy_that_is_put_on_it(make):
    async def steps(region):
        await region.ask("PUT", "/demo")
        deny = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::demo/*"}]}
        document = json.dumps(deny).encode()
        sums = {"content-md5": base64.b64encode(hashlib.md5(document).digest()).decode()}
        assert (await region.ask("PUT", "/demo?policy", document, headers=sums))[0] == 204
        status, steps = await region.ask("PUT", "/demo/k", b"x")
        assert (status, between(steps, "Code")) == (403, "AccessDenied")

    scenario(make, steps)


def test_a_role_of_this_world_lends_its_session(make):
    async def steps(region):
        trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
        form = f"Action=CreateRole&Version=2010-05-08&RoleName=copy&AssumeRolePolicyDocument={quote(json.dumps(trust))}"
        assert (await region.query("iam", form))[0] == 200
        lent = region.shared.identities.assume(f"arn:aws:iam::{ACCOUNT}:role/copy", principal=Caller("service", service="s3.amazonaws.com", name="s3-replication"))
        assert lent.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/copy/s3-replication"

    scenario(make, steps)


def test_replication_starts_with_nothing_to_copy_and_its_metrics_are_empty(make):
    async def steps(one):
        copying = build_region.replication(one.shared)
        assert list(build_region.gauges(copying)) == []

    scenario(make, steps)


def test_a_regions_store_lies_in_its_own_folder_and_is_whole_after_it_closed(tmp_path):
    home = Home(tmp_path).make()

    async def whole():
        async with build_region.open_store(home, "us-east-1", Ticks(1_800_000_000.0)) as store:
            await store.put(Key("demo", "k"), Body.of(b"hello"), lambda: ObjectMetadata(version="v1", size=5))

    asyncio.run(whole())
    assert list(check(home.store("us-east-1"))) == []
