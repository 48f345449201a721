"""The walk of two accounts: boto3 and the AWS CLI, through the proxy and through the endpoint."""

import json

import pytest

pytestmark = pytest.mark.xdist_group("clients")
WAYS = ("proxy", "endpoint")
WALK = """
    bucket, idb = argv
    ours = boto3.client("sts").get_caller_identity()["Account"]
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="k", Body=b"ours")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{idb}:root"}, "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}]}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
    wrong = code(s3.get_object, Bucket=bucket, Key="k", ExpectedBucketOwner=idb)
    say({"id": ours, "owner": s3.list_buckets()["Owner"]["ID"], "wrong": wrong})
"""
VISIT = """
    bucket, name = argv
    sts, iam = boto3.client("sts"), boto3.client("iam")
    ours = sts.get_caller_identity()["Account"]
    listed = [row["Name"] for row in s3.list_buckets()["Buckets"]]
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    user = boto3.client("s3", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
    before = code(user.get_object, Bucket=bucket, Key="k")
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}]}
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=json.dumps(allow))
    say({
        "id": ours, "owner": s3.list_buckets()["Owner"]["ID"], "listed": listed, "user": [before, code(user.get_object, Bucket=bucket, Key="k")],
        "read": s3.get_object(Bucket=bucket, Key="k")["Body"].read().decode(), "write": code(s3.put_object, Bucket=bucket, Key="k", Body=b"x"),
        "create": code(s3.create_bucket, Bucket=bucket), "policy": code(s3.get_bucket_policy, Bucket=bucket),
    })
"""


@pytest.fixture(scope="module")
def second(world):
    """The id of a second account of the world, made while it runs."""
    done = world.atoll("account", "create", "second", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["id"]


@pytest.mark.parametrize("mode", WAYS)
def test_two_accounts_walk_through_boto3(world, second, mode):
    bucket = f"first-{mode}"
    ours = world.boto3(WALK, bucket, second, mode=mode)
    theirs = world.boto3(VISIT, bucket, f"guest-{mode}", mode=mode, account="second")
    assert (ours["id"], theirs["id"]) == (world.account, second)
    assert ours["owner"] != theirs["owner"]
    assert ours["wrong"] == "AccessDenied"
    assert (theirs["listed"], theirs["read"], theirs["write"]) == ([], "ours", "AccessDenied")
    assert (theirs["create"], theirs["policy"]) == ("BucketAlreadyExists", "AccessDenied")
    assert theirs["user"] == ["AccessDenied", 200]


@pytest.mark.parametrize("mode", WAYS)
def test_two_accounts_walk_through_the_command_line(world, second, mode):
    bucket = f"first-cli-{mode}"
    world.ok("aws", "s3", "mb", f"s3://{bucket}", mode=mode)
    world.ok("aws", "s3", "cp", "-", f"s3://{bucket}/k", mode=mode, stdin="ours")
    assert "403" in world.refused("aws", "s3", "cp", f"s3://{bucket}/k", "-", mode=mode, account="second")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": second}, "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}]}
    world.ok("aws", "s3api", "put-bucket-policy", "--bucket", bucket, "--policy", json.dumps(policy), mode=mode)
    assert world.ok("aws", "s3", "cp", f"s3://{bucket}/k", "-", mode=mode, account="second") == "ours"
    assert "AccessDenied" in world.refused("aws", "s3", "ls", f"s3://{bucket}", mode=mode, account="second")
    assert "BucketAlreadyExists" in world.refused("aws", "s3", "mb", f"s3://{bucket}", mode=mode, account="second")
    assert bucket not in world.ok("aws", "s3", "ls", mode=mode, account="second")
    result = json.loads(world.ok("aws", "sts", "get-caller-identity", mode=mode, account="second"))
    assert result == {"UserId": second, "Account": second, "Arn": f"arn:aws:iam::{second}:root"}


def test_the_public_access_block_of_an_account_is_set_as_on_aws(world, second):
    switches = "BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true"
    control = ("aws", "s3control", "--region", "us-east-1")
    world.ok(*control, "put-public-access-block", "--account-id", second, "--public-access-block-configuration", switches, account="second")
    result = json.loads(world.ok(*control, "get-public-access-block", "--account-id", second, account="second"))
    assert set(result["PublicAccessBlockConfiguration"].values()) == {True}
    assert "AccessDenied" in world.refused(*control, "get-public-access-block", "--account-id", second)
    assert "NoSuchPublicAccessBlockConfiguration" in world.refused(*control, "get-public-access-block", "--account-id", world.account)


ARRIVE = """
    there, role = argv
    s3 = boto3.client("s3", region_name="eu-central-1")
    s3.create_bucket(Bucket=there, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    s3.put_bucket_versioning(Bucket=there, VersioningConfiguration={"Status": "Enabled"})
    s3.delete_bucket_ownership_controls(Bucket=there)
    actions = ["s3:ReplicateObject", "s3:ReplicateTags", "s3:ObjectOwnerOverrideToBucketOwner"]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": role}, "Action": actions, "Resource": f"arn:aws:s3:::{there}/*"}]}
    s3.put_bucket_policy(Bucket=there, Policy=json.dumps(policy))
    say({})
"""
SEND = """
    s3.create_bucket(Bucket=argv[0])
    s3.put_bucket_versioning(Bucket=argv[0], VersioningConfiguration={"Status": "Enabled"})
    say({})
"""
ROLE = """
    iam = boto3.client("iam")
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    role = iam.create_role(RoleName="abroad", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName="abroad", PolicyName="p", PolicyDocument=json.dumps(allow))
    say({"role": role})
"""
RULES = """
    import time
    source, role, other, kept, given = argv
    def rule(priority, there, **more):
        return {"ID": there, "Priority": priority, "Status": "Enabled", "Filter": {"Prefix": ""}, "DeleteMarkerReplication": {"Status": "Disabled"}, "Destination": {"Bucket": f"arn:aws:s3:::{there}", "Account": other, **more}}
    rules = [rule(1, kept), rule(2, given, AccessControlTranslation={"Owner": "Destination"})]
    s3.put_bucket_replication(Bucket=source, ReplicationConfiguration={"Role": role, "Rules": rules})
    s3.put_object(Bucket=source, Key="k", Body=b"abroad")
    end = time.time() + 30
    while s3.head_object(Bucket=source, Key="k").get("ReplicationStatus") == "PENDING":
        assert time.time() < end
        time.sleep(0.05)
    say({"status": s3.head_object(Bucket=source, Key="k")["ReplicationStatus"], "owner": s3.list_buckets()["Owner"]["ID"]})
"""
SEEN = """
    kept, given = argv
    s3 = boto3.client("s3", region_name="eu-central-1")
    say({
        "me": s3.list_buckets()["Owner"]["ID"],
        "owners": [s3.list_objects_v2(Bucket=there, FetchOwner=True)["Contents"][0]["Owner"]["ID"] for there in (kept, given)],
        "read": [code(s3.get_object, Bucket=there, Key="k") for there in (kept, given)],
    })
"""


def test_copies_in_another_accounts_bucket_are_their_sources_unless_the_owner_is_overridden(world, second):
    role = world.boto3(ROLE)["role"]
    world.boto3(SEND, "abroad-source")
    for there in ("abroad-kept", "abroad-given"):
        world.boto3(ARRIVE, there, role, account="second")
    sent = world.boto3(RULES, "abroad-source", role, second, "abroad-kept", "abroad-given")
    seen = world.boto3(SEEN, "abroad-kept", "abroad-given", account="second")
    assert sent["status"] == "COMPLETED"
    assert seen["owners"] == [sent["owner"], seen["me"]]
    assert seen["read"] == ["AccessDenied", 200]


POINT = """
    import time
    ours, theirs, other = argv
    account, control = boto3.client("sts").get_caller_identity()["Account"], boto3.client("s3control", region_name="us-west-2")
    def made(name, *members):
        token = control.create_multi_region_access_point(AccountId=account, ClientToken=name, Details={"Name": name, "Regions": list(members)})["RequestTokenARN"]
        end = time.time() + 20
        while (told := control.describe_multi_region_access_point_operation(AccountId=account, RequestTokenARN=token)["AsyncOperation"])["RequestStatus"] not in ("SUCCEEDED", "FAILED"):
            assert time.time() < end
            time.sleep(0.05)
        return told.get("ResponseDetails", {}).get("ErrorDetails", {}).get("Code", told["RequestStatus"])
    first, foreign = {"Bucket": ours}, {"Bucket": theirs, "BucketAccountId": other}
    outcome = [made("without", first, {"Bucket": theirs}), made("wrong", first, {"Bucket": theirs, "BucketAccountId": account}), made("shared", first, foreign)]
    point = control.get_multi_region_access_point(AccountId=account, Name="shared")["AccessPoint"]
    arn = f"arn:aws:s3::{account}:accesspoint/{point['Alias']}"
    say({"outcome": outcome, "owners": {row["Bucket"]: row["BucketAccountId"] for row in point["Regions"]}, "arn": arn})
"""
NEAR = """
    say(code(s3.get_object, Bucket=argv[0], Key="k"))
"""
OPEN = """
    bucket, other = argv
    s3 = boto3.client("s3", region_name="eu-central-1")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*", "Condition": {"StringEquals": {"s3:DataAccessPointAccount": other}}}]}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
    say(code(s3.delete_bucket, Bucket="pointed-empty"))
"""
HOLD = """
    s3 = boto3.client("s3", region_name="eu-central-1")
    for bucket in ("pointed-theirs", "pointed-empty"):
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    s3.put_object(Bucket="pointed-theirs", Key="k", Body=b"theirs")
    say({})
"""


def test_an_access_point_leads_into_a_bucket_of_another_account_once_its_policy_allows(world, second):
    world.boto3("""s3.create_bucket(Bucket="pointed-ours"); say(code(s3.put_object, Bucket="pointed-ours", Key="k", Body=b"ours"))""")
    world.boto3(HOLD, account="second")
    made = world.boto3(POINT, "pointed-ours", "pointed-theirs", second, timeout=120)
    assert made["outcome"] == ["AccessDenied", "AccessDenied", "SUCCEEDED"]
    assert made["owners"] == {"pointed-ours": world.account, "pointed-theirs": second}
    assert world.boto3(NEAR, made["arn"]) == 200
    assert world.boto3(NEAR, made["arn"], place="eu-central-1") == "AccessDenied"
    assert world.boto3(OPEN, "pointed-theirs", world.account, account="second") == 204
    assert world.boto3(NEAR, made["arn"], place="eu-central-1") == 200
