"""boto3 as it comes (clients.md, section 4)."""

import json
import subprocess

import pytest

from clients.client_fixtures import Relay

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

RUBBISH = {name: "/etc/hostname" for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")}


def test_every_data_operation_goes_through_the_arn(world):
    result = world.boto3(
        """
        arn, k = argv[0], "boto/all"
        found = {"put": code(s3.put_object, Bucket=arn, Key=k, Body=b"hello")}
        found["get"] = s3.get_object(Bucket=arn, Key=k)["Body"].read().decode()
        found["head"] = s3.head_object(Bucket=arn, Key=k)["ContentLength"]
        found["list"] = [row["Key"] for row in s3.list_objects_v2(Bucket=arn, Prefix="boto/all")["Contents"]]
        found["copy"] = code(s3.copy_object, Bucket=arn, Key="boto/all2", CopySource={"Bucket": "walk-us-east-1", "Key": k})
        upload = s3.create_multipart_upload(Bucket=arn, Key="boto/parts")["UploadId"]
        part = s3.upload_part(Bucket=arn, Key="boto/parts", UploadId=upload, PartNumber=1, Body=b"x" * 100)
        done = [{"PartNumber": 1, "ETag": part["ETag"]}]
        found["complete"] = code(s3.complete_multipart_upload, Bucket=arn, Key="boto/parts", UploadId=upload, MultipartUpload={"Parts": done})
        found["delete"] = code(s3.delete_object, Bucket=arn, Key=k)
        found["gone"] = code(s3.get_object, Bucket=arn, Key=k)
        say(found)
        """,
        world.arn,
    )
    assert result == {"put": 200, "get": "hello", "head": 5, "list": ["boto/all"], "copy": 200, "complete": 200, "delete": 204, "gone": "NoSuchKey"}


def test_the_arn_is_answered_by_the_nearest_member(world):
    read = "say(s3.get_object(Bucket=argv[0], Key='hello')['Body'].read().decode())"
    assert world.boto3(read, world.arn, place="ap-northeast-1") == "ap-northeast-1"
    assert world.boto3(read, world.arn, place="us-east-1") == "us-east-1"
    assert world.boto3(read, world.arn, place="london") == "us-east-1"


def test_an_endpoint_setting_does_not_keep_it_from_the_access_point(world):
    result = world.boto3(
        """
        nowhere = boto3.client("s3", endpoint_url="http://127.0.0.1:9")
        os.environ["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:9"
        also = boto3.client("s3")
        say([code(client.get_object, Bucket=argv[0], Key="hello") for client in (nowhere, also)])
        """,
        world.arn,
    )
    assert result == [200, 200]


def test_the_alias_for_a_bucket_is_served_in_every_region(world):
    result = world.boto3(
        "say([code(boto3.client('s3', region_name=region).get_object, Bucket=argv[0], Key='hello') for region in ('us-east-1', 'eu-central-1')])",
        world.alias,
    )
    assert result == [200, 200]


def test_the_access_points_host_for_an_endpoint_takes_the_bucket_for_a_part_of_the_key(world):
    result = world.boto3(
        """
        there = boto3.client("s3", endpoint_url=f"https://{argv[0]}.accesspoint.s3-global.amazonaws.com", config=Config(s3={"addressing_style": "path"}))
        say(code(there.get_object, Bucket="walk-us-east-1", Key="hello"))
        """,
        world.alias,
    )
    assert result == "NoSuchKey"


def test_sigv4_to_an_access_point_is_served(world):
    result = world.boto3("say(code(boto3.client('s3', config=Config(signature_version='s3v4')).get_object, Bucket=argv[0], Key='hello'))", world.arn)
    assert result == 200


def test_a_region_set_that_does_not_hold_the_chosen_region_is_refused(world):
    result = "say(code(s3.get_object, Bucket=argv[0], Key='hello'))"
    assert world.boto3(result, world.arn, AWS_SIGV4A_SIGNING_REGION_SET="us-east-1") == 200
    assert world.boto3(result, world.arn, AWS_SIGV4A_SIGNING_REGION_SET="us-east-1", place="ap-northeast-1") == "SignatureDoesNotMatch"


def test_a_bucket_elsewhere_is_found_by_the_redirect(world):
    result = world.boto3(
        """
        found = [code(s3.get_object, Bucket="walk-eu-central-1", Key="hello"), code(s3.head_object, Bucket="walk-eu-central-1", Key="hello")]
        found += [s3.get_bucket_location(Bucket="walk-eu-central-1")["LocationConstraint"], s3.head_bucket(Bucket="walk-eu-central-1")["BucketRegion"]]
        say(found)
        """
    )
    assert result == [200, 200, "eu-central-1", "eu-central-1"]


def test_proxy_and_ca_may_stand_in_the_code_instead(world):
    result = world.boto3(
        """
        own = {name: os.environ.pop(name) for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "AWS_CA_BUNDLE", "SSL_CERT_FILE")}
        client = boto3.client("s3", verify=own["AWS_CA_BUNDLE"], config=Config(proxies={"https": own["HTTPS_PROXY"]}))
        say([code(client.get_object, Bucket=bucket, Key="hello") for bucket in (argv[0], "walk-us-east-1")])
        """,
        world.arn,
    )
    assert result == [200, 200]


def test_the_ca_may_stand_in_the_config_file(world):
    config = world.folder / "config"
    config.write_text(f"[default]\nca_bundle = {world.ca}\n")
    result = world.boto3(
        """
        del os.environ["AWS_CA_BUNDLE"]
        os.environ["AWS_CONFIG_FILE"] = argv[0]
        say(code(boto3.session.Session().client("s3").get_object, Bucket="walk-us-east-1", Key="hello"))
        """,
        config,
    )
    assert result == 200


def test_ca_variables_of_the_shell_do_not_get_in(world):
    result = "say([code(s3.get_object, Bucket=bucket, Key='hello') for bucket in (argv[0], 'walk-us-east-1')])"
    assert world.boto3(result, world.arn, **RUBBISH) == [200, 200]


def test_a_proxy_of_the_shell_does_not_win_in_either_case_nor_an_endpoint_nor_a_profile(world):
    astray = {name: "http://127.0.0.1:9" for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")}
    others = {"NO_PROXY": ".amazonaws.com", "no_proxy": "*", "AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "old", "AWS_USE_FIPS_ENDPOINT": "true"}
    assert world.boto3("say(code(s3.get_object, Bucket='walk-us-east-1', Key='hello'))", **astray, **others) == 200


def test_a_hundred_reads_use_one_tunnel(world):
    with Relay(world.port("ap-northeast-1")) as relay:
        result = world.boto3(
            """
            os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = argv[1]
            s3 = boto3.client("s3")
            say([s3.get_object(Bucket=argv[0], Key="hello")["Body"].read().decode() for _ in range(100)])
            """,
            world.arn,
            relay.url,
            place="ap-northeast-1",
        )
    assert result == ["ap-northeast-1"] * 100
    assert [line.split()[:2] for line in relay.tunnels] == [["CONNECT", f"{world.alias}.accesspoint.s3-global.amazonaws.com:443"]]


def test_twenty_megabytes_go_through_the_tunnel_in_parts_with_trailers(world):
    result = world.boto3(
        """
        import hashlib
        content = os.urandom(1 << 20) * 20
        open("twenty", "wb").write(content)
        s3.upload_file("twenty", argv[0], "boto/twenty")
        s3.download_file(argv[0], "boto/twenty", "back")
        head = s3.head_object(Bucket=argv[0], Key="boto/twenty", ChecksumMode="ENABLED")
        say([open("back", "rb").read() == content, head["ContentLength"], head["ETag"].rpartition("-")[2], head["ChecksumType"]])
        """,
        world.arn,
    )
    assert result == [True, 20 << 20, '3"', "COMPOSITE"]


def test_a_plain_endpoint_on_an_ip_address_works_with_and_without_tls(world):
    result = world.boto3(
        """
        plain = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{argv[0]}")
        tunnelled = boto3.client("s3", endpoint_url="https://127.0.0.1")
        found = [code(client.get_object, Bucket="walk-us-east-1", Key="hello") for client in (plain, tunnelled)]
        say([*found, code(plain.put_object, Bucket="walk-us-east-1", Key="boto/plain", Body=b"x" * 100_000)])
        """,
        world.port(),
    )
    assert result == [200, 200, 200]


def test_control_operations_find_their_way_with_an_endpoint_and_a_proxy(world):
    result = world.boto3(
        """
        control = boto3.client("s3control", region_name="us-west-2", endpoint_url=f"http://127.0.0.1:{argv[1]}")
        with_proxy = control.list_multi_region_access_points(AccountId=argv[0])["AccessPoints"]
        at_home = boto3.client("s3control", region_name="ap-southeast-2").list_multi_region_access_points(AccountId=argv[0])["AccessPoints"]
        say(["walk" in [row["Name"] for row in rows] for rows in (with_proxy, at_home)])
        """,
        world.account,
        world.port(),
    )
    assert result == [True, True]


def test_a_wrong_secret_is_refused_at_both_ways_in(world):
    result = world.boto3(
        """
        other = boto3.client("s3", aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"], aws_secret_access_key="wrong")
        say([code(other.get_object, Bucket=bucket, Key="hello") for bucket in (argv[0], "walk-us-east-1")])
        """,
        world.arn,
    )
    assert result == ["SignatureDoesNotMatch", "SignatureDoesNotMatch"]


def test_a_role_session_reads_what_its_policy_lets_it_and_the_logs_keep_its_secret(world):
    result = world.boto3(
        """
        iam, sts = boto3.client("iam"), boto3.client("sts")
        user = iam.create_user(UserName="walker")["User"]["Arn"]
        key = iam.create_access_key(UserName="walker")["AccessKey"]
        trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": user}, "Action": "sts:AssumeRole"}]}
        role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
        may = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": [f"{argv[0]}/object/*", "arn:aws:s3:::walk-*/*"]}
        iam.put_role_policy(RoleName="reader", PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [may]}))
        walker = boto3.client("sts", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
        lent = walker.assume_role(RoleArn=role, RoleSessionName="walk")["Credentials"]
        reader = boto3.client("s3", aws_access_key_id=lent["AccessKeyId"], aws_secret_access_key=lent["SecretAccessKey"], aws_session_token=lent["SessionToken"])
        found = [code(reader.get_object, Bucket=argv[0], Key="hello"), code(reader.get_object, Bucket="walk-us-east-1", Key="hello")]
        found.append(code(reader.put_object, Bucket=argv[0], Key="hello", Body=b"no"))
        say({"found": found, "secrets": [key["SecretAccessKey"], lent["SecretAccessKey"], lent["SessionToken"], os.environ["AWS_SECRET_ACCESS_KEY"]]})
        """,
        world.arn,
    )
    assert result["found"] == [200, 200, "AccessDenied"]
    logs = "".join(path.read_text() for path in (world.folder / "world" / "logs").iterdir())
    assert len(logs) > 1000
    assert not [secret for secret in result["secrets"] if secret in logs]


def test_an_answer_can_be_explained(world):
    result = world.boto3(
        """
        try:
            s3.get_object(Bucket=argv[0], Key="missing")
        except ClientError as refusal:
            say(refusal.response["ResponseMetadata"]["RequestId"])
        """,
        world.arn,
    )
    found = subprocess.run(["atoll", "explain", result, "--json"], env=world.env, capture_output=True, text=True, timeout=20, check=False)
    events = json.loads(found.stdout)
    assert {event["event"] for event in events} >= {"request"}
    assert {event.get("operation") for event in events} & {"GetObject"}
