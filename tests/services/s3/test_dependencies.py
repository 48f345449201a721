from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3.records import BucketRecord
from s3world import World, scenario

RULE = {
    "ID": "r",
    "Priority": 1,
    "Status": "Enabled",
    "Filter": {"Prefix": ""},
    "DeleteMarkerReplication": {"Status": "Disabled"},
    "Destination": {"Bucket": "arn:aws:s3:::far"},
}
CONFIGURATION = {"Role": "arn:aws:iam::111122223333:role/r", "Rules": [RULE]}


def _record(replication):
    return BucketRecord(name="bkt", region="us-east-1", account="111122223333", created_ms=0, replication=replication)


def test_rules_are_parsed_once_per_record():
    book, record = ReplicationRuleCache(), _record(CONFIGURATION)
    assert book.of(record) is book.of(record)
    assert book.of(record).rules[0].destination == "far"
    assert book.of(_record(CONFIGURATION)) is not None


def test_a_bucket_without_configuration_has_no_rules():
    assert ReplicationRuleCache().of(_record(None)) is None


@scenario()
async def test_a_request_without_a_body_stores_an_empty_object(world: World):
    await world.bucket()
    put = await world.execute("PutObject", Bucket="bkt", Key="k", payload=None)
    assert put.members["ETag"] == '"d41d8cd98f00b204e9800998ecf8427e"'
    assert (put.members["ChecksumCRC64NVME"], put.members["ChecksumType"]) == ("AAAAAAAAAAA=", "FULL_OBJECT")
