import pytest

from s3world import World, scenario

PUTS = {
    "PutBucketVersioning": {"VersioningConfiguration": {"Status": "Enabled"}},
    "PutPublicAccessBlock": {"PublicAccessBlockConfiguration": {"BlockPublicAcls": True}},
    "PutBucketOwnershipControls": {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}},
    "PutBucketAcl": {"ACL": "private"},
    "PutBucketTagging": {"Tagging": {"TagSet": []}},
    "PutBucketPolicy": {"Policy": "{}"},
    "PutBucketReplication": {"ReplicationConfiguration": {}},
}


@pytest.mark.parametrize("operation", PUTS)
def test_a_setting_needs_a_checksum_of_its_body(operation):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused(operation, Bucket="bkt", headers={}, **PUTS[operation])
        assert (error.code, error.message[:23]) == ("InvalidRequest", "Missing required header")

    steps()


@scenario()
async def test_versioning_is_unset_enabled_or_suspended(world: World):
    await world.bucket()
    unset = (await world.execute("GetBucketVersioning", Bucket="bkt")).members
    await world.versioning("Enabled")
    enabled = (await world.execute("GetBucketVersioning", Bucket="bkt")).members
    await world.versioning("Suspended")
    assert (unset, enabled) == ({}, {"Status": "Enabled"})
    assert (await world.execute("GetBucketVersioning", Bucket="bkt")).members == {"Status": "Suspended"}


@pytest.mark.parametrize(
    ("configuration", "code"),
    [
        (None, "IllegalVersioningConfigurationException"),
        ({}, "IllegalVersioningConfigurationException"),
        ({"Status": "enabled"}, "MalformedXML"),
        ({"Status": "Enabled", "MFADelete": "Enabled"}, "NotImplemented"),
    ],
)
def test_versioning_that_makes_no_sense(configuration, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        assert (await world.refused("PutBucketVersioning", Bucket="bkt", VersioningConfiguration=configuration)).code == code

    steps()


@scenario()
async def test_public_access_is_blocked_at_birth_set_and_unset(world: World):
    await world.bucket()
    response = (await world.execute("GetPublicAccessBlock", Bucket="bkt")).members["PublicAccessBlockConfiguration"]
    await world.execute("PutPublicAccessBlock", Bucket="bkt", PublicAccessBlockConfiguration={"IgnorePublicAcls": True})
    put = (await world.execute("GetPublicAccessBlock", Bucket="bkt")).members["PublicAccessBlockConfiguration"]
    await world.execute("DeletePublicAccessBlock", Bucket="bkt")
    assert set(response.values()) == {True}
    assert {name for name, on in put.items() if on} == {"IgnorePublicAcls"}
    assert (await world.refused("GetPublicAccessBlock", Bucket="bkt")).code == "NoSuchPublicAccessBlockConfiguration"


@scenario()
async def test_ownership_is_enforced_until_its_controls_are_deleted(world: World):
    await world.bucket()
    response = (await world.execute("GetBucketOwnershipControls", Bucket="bkt")).members
    await world.execute("DeleteBucketOwnershipControls", Bucket="bkt")
    gone = await world.refused("GetBucketOwnershipControls", Bucket="bkt")
    acl = await world.refused("PutBucketAcl", Bucket="bkt", ACL="public-read")
    await world.execute("PutBucketOwnershipControls", Bucket="bkt", **PUTS["PutBucketOwnershipControls"])
    assert response == {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}}
    assert (gone.code, acl.code) == ("OwnershipControlsNotFoundError", "NotImplemented")
    assert (await world.refused("PutBucketAcl", Bucket="bkt", ACL="public-read")).code == "AccessControlListNotSupported"


@pytest.mark.parametrize(
    ("rules", "code"),
    [([{"ObjectOwnership": "ObjectWriter"}], "NotImplemented"), ([{"ObjectOwnership": "Me"}], "MalformedXML"), ([], "MalformedXML")],
)
def test_other_ownership_is_refused(rules, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused("PutBucketOwnershipControls", Bucket="bkt", OwnershipControls={"Rules": rules})
        assert error.code == code

    steps()


@scenario()
async def test_the_owner_has_full_control_of_the_bucket(world: World):
    await world.bucket()
    output = (await world.execute("GetBucketAcl", Bucket="bkt")).members
    assert [grant["Permission"] for grant in output["Grants"]] == ["FULL_CONTROL"]
    await world.execute("PutBucketAcl", Bucket="bkt", ACL="private")
    await world.execute("PutBucketAcl", Bucket="bkt", AccessControlPolicy=output)
    assert (await world.refused("PutBucketAcl", Bucket="bkt", ACL="log-delivery-write")).status == 400


@scenario()
async def test_bucket_tags(world: World):
    await world.bucket()
    unset = await world.refused("GetBucketTagging", Bucket="bkt")
    put = await world.execute("PutBucketTagging", Bucket="bkt", Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    many = [{"Key": f"k{n}", "Value": ""} for n in range(51)]
    over = await world.refused("PutBucketTagging", Bucket="bkt", Tagging={"TagSet": many})
    kept = (await world.execute("GetBucketTagging", Bucket="bkt")).members["TagSet"]
    await world.execute("DeleteBucketTagging", Bucket="bkt")
    assert (unset.code, put.status, over.status) == ("NoSuchTagSet", 204, 400)
    assert kept == [{"Key": "a", "Value": "1"}]
    assert (await world.refused("GetBucketTagging", Bucket="bkt")).code == "NoSuchTagSet"


GETS = ["GetBucketVersioning", "GetPublicAccessBlock", "GetBucketOwnershipControls", "GetBucketAcl", "GetBucketTagging"]
DELETES = ["DeletePublicAccessBlock", "DeleteBucketOwnershipControls", "DeleteBucketTagging"]


@pytest.mark.parametrize("operation", [*GETS, *DELETES, *PUTS])
def test_a_setting_is_that_of_a_bucket_of_this_region_and_of_the_expected_owner(operation):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.region("eu-west-1").bucket("far")
        members = PUTS.get(operation, {})
        foreign = await world.refused(operation, Bucket="bkt", ExpectedBucketOwner="999999999999", **members)
        nobody = await world.refused(operation, Bucket="bkt", ExpectedBucketOwner="me", **members)
        away = await world.refused(operation, Bucket="far", **members)
        absent = await world.refused(operation, Bucket="none", **members)
        assert (foreign.code, nobody.code) == ("AccessDenied", "InvalidBucketOwnerAWSAccountID")
        assert (away.status, away.headers["x-amz-bucket-region"], absent.code) == (301, "eu-west-1", "NoSuchBucket")

    steps()


@pytest.mark.parametrize(
    ("tag_set", "code"),
    [
        ([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}], "InvalidTag"),
        ([{"Key": "aws:a", "Value": "1"}], "InvalidTag"),
        ([{"Key": "a?", "Value": "1"}], "InvalidTag"),
        ([{"Key": "a"}], "MalformedXML"),
    ],
)
def test_bad_bucket_tags_are_refused_and_the_old_ones_stay(tag_set, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        old = [{"Key": "old", "Value": "1"}]
        await world.execute("PutBucketTagging", Bucket="bkt", Tagging={"TagSet": old})
        assert (await world.refused("PutBucketTagging", Bucket="bkt", Tagging={"TagSet": tag_set})).code == code
        assert (await world.execute("GetBucketTagging", Bucket="bkt")).members["TagSet"] == old

    steps()


@scenario()
async def test_a_public_access_block_without_switches_is_malformed_and_changes_nothing(world: World):
    await world.bucket()
    error = await world.refused("PutPublicAccessBlock", Bucket="bkt", PublicAccessBlockConfiguration={})
    kept = (await world.execute("GetPublicAccessBlock", Bucket="bkt")).members["PublicAccessBlockConfiguration"]
    assert (error.code, set(kept.values())) == ("MalformedXML", {True})


@scenario()
async def test_what_is_not_set_can_be_deleted_and_one_setting_leaves_the_others(world: World):
    await world.bucket(versioning="Enabled")
    await world.execute("PutBucketTagging", Bucket="bkt", Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    for operation in ("DeletePublicAccessBlock", "DeletePublicAccessBlock", "DeleteBucketOwnershipControls"):
        assert not (await world.execute(operation, Bucket="bkt")).members
    assert (await world.execute("GetBucketVersioning", Bucket="bkt")).members == {"Status": "Enabled"}
    assert (await world.execute("GetBucketTagging", Bucket="bkt")).members["TagSet"] == [{"Key": "a", "Value": "1"}]
