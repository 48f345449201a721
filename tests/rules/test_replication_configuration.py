import pytest

from atoll.domain.errors import ApiError
from atoll.rules.replication_configuration import BucketSettings, Filter, check, named, parse

ROLE = "arn:aws:iam::111122223333:role/replicate"
MINUTES = {"Minutes": 15}
TIME = {"Status": "Enabled", "Time": MINUTES}
METRICS = {"Status": "Enabled", "EventThreshold": MINUTES}
TAG = {"Key": "k", "Value": "v"}
OFF = {"Status": "Disabled"}
ON = {"Status": "Enabled"}
SIDE = BucketSettings("Enabled", "111122223333")


def to(**more):
    return {"Bucket": "arn:aws:s3:::there", **more}


def v2(**more):
    return {"Status": "Enabled", "Priority": 1, "Filter": {}, "DeleteMarkerReplication": OFF, "Destination": to(), **more}


def v1(**more):
    return {"Status": "Enabled", "Prefix": "", "Destination": to(), **more}


def without(members, *names):
    return {name: value for name, value in members.items() if name not in names}


def configuration(*rules):
    return {"Role": ROLE, "Rules": list(rules)}


def one(rule):
    return parse(configuration(rule)).rules[0]


def refusal(rule):
    with pytest.raises(ApiError) as caught:
        parse(configuration(rule))
    return caught.value


def test_a_rule_with_everything_reads_as_it_is_meant():
    rule = one(
        v2(
            ID="r",
            Filter={"And": {"Prefix": "p/", "Tags": [TAG], "Not": {"Or": {"Prefixes": ["p/x"], "Tags": [{"Key": "no", "Value": "1"}]}}}},
            SourceSelectionCriteria={"ReplicaModifications": ON, "SseKmsEncryptedObjects": OFF},
            ExistingObjectReplication=OFF,
            Destination=to(ReplicationTime=TIME, Metrics=METRICS, StorageClass="STANDARD", Account="111122223333"),
        )
    )
    assert (rule.id, rule.destination, rule.enabled, rule.priority, rule.account) == ("r", "there", True, 1, "111122223333")
    assert rule.filter == Filter("p/", (("k", "v"),), ("p/x",), (("no", "1"),))
    assert (rule.markers, rule.replica_modifications, rule.time_control, rule.metrics) == (False, True, True, True)


@pytest.mark.parametrize("rule", [v1(), without(v1(), "Prefix")], ids=["prefix", "neither"])
def test_schema_v1_replicates_markers_and_needs_no_priority(rule):
    assert (one(rule).markers, one(rule).priority) == (True, 0)


@pytest.mark.parametrize("chosen", [{}, {"Prefix": ""}], ids=["empty", "empty-prefix"])
def test_an_empty_filter_makes_it_schema_v2_and_takes_all_objects(chosen):
    rule = one(v2(Filter=chosen))
    assert not rule.markers
    assert rule.filter == Filter()


def test_v2_replicates_markers_when_the_rule_says_so():
    assert one(v2(DeleteMarkerReplication=ON)).markers


@pytest.mark.parametrize(
    "chosen",
    [{"Tag": TAG}, {"And": {"Tags": [TAG]}}, {"Not": {"Tag": TAG}}, {"Not": {"Or": {"Tags": [TAG]}}}, {"And": {"Not": {"Tag": TAG}}}],
)
def test_a_filter_by_tags_needs_markers_disabled(chosen):
    assert refusal(v2(Filter=chosen, DeleteMarkerReplication=ON)).code == "InvalidRequest"
    assert one(v2(Filter=chosen)).filter.uses_tags


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (without(v2(), "Priority"), "InvalidRequest"),
        (without(v2(), "DeleteMarkerReplication"), "InvalidRequest"),
        (v1(DeleteMarkerReplication=ON), "InvalidRequest"),
        (v1(Destination=to(ReplicationTime=TIME, Metrics=METRICS)), "InvalidRequest"),
        (v2(Priority=-1), "InvalidArgument"),
        (v2(ExistingObjectReplication=ON), "InvalidRequest"),
        (v2(Destination=to(AccessControlTranslation={"Owner": "Destination"})), "InvalidRequest"),
        (v2(Destination=to(Account="999900001111", AccessControlTranslation={"Owner": "Source"})), "MalformedXML"),
        (v2(Destination=to(Account="999900001111", AccessControlTranslation={})), "MalformedXML"),
        (v2(Filter={"Not": {"Prefix": ""}}), "InvalidRequest"),
        (v2(Filter={"Prefix": "p" * 1025}), "InvalidRequest"),
        (v2(ID="ä"), "InvalidArgument"),
        (v2(ID="i" * 256), "InvalidArgument"),
        (v2(Destination=to(Account="")), "InvalidArgument"),
        (v2(Destination={"Bucket": "there"}), "InvalidArgument"),
        (v2(Destination={"Bucket": "arn:aws:s3:::there/key"}), "InvalidArgument"),
        (without(v2(), "Status"), "MalformedXML"),
        (v2(Status="On"), "MalformedXML"),
        (without(v2(), "Destination"), "MalformedXML"),
        (v2(Destination={"StorageClass": "STANDARD"}), "MalformedXML"),
        (v2(Prefix=""), "MalformedXML"),
        (v2(Filter={"Prefix": "a", "Tag": TAG}), "MalformedXML"),
        (v2(Filter={"Not": {"Prefix": "a", "Tag": TAG}}), "MalformedXML"),
        (v2(Filter={"Tag": {"Value": "v"}}), "MalformedXML"),
        (v2(DeleteMarkerReplication={}), "MalformedXML"),
    ],
)
def test_a_rule_that_s3_would_not_take_is_refused(rule, code):
    assert refusal(rule).code == code


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        (to(ReplicationTime=without(TIME, "Status"), Metrics=METRICS), "InvalidArgument"),
        (to(ReplicationTime=without(TIME, "Time"), Metrics=METRICS), "InvalidArgument"),
        (to(ReplicationTime={**TIME, "Time": {"Minutes": 5}}, Metrics=METRICS), "InvalidArgument"),
        (to(ReplicationTime=TIME, Metrics=without(METRICS, "Status")), "InvalidArgument"),
        (to(ReplicationTime=TIME, Metrics=without(METRICS, "EventThreshold")), "InvalidArgument"),
        (to(ReplicationTime=TIME, Metrics={**METRICS, "EventThreshold": {"Minutes": 1}}), "InvalidArgument"),
        (to(ReplicationTime=TIME), "InvalidRequest"),
        (to(ReplicationTime=TIME, Metrics={**METRICS, "Status": "Disabled"}), "InvalidRequest"),
    ],
)
def test_time_control_and_metrics_go_in_pairs_of_fifteen_minutes(destination, code):
    assert refusal(v2(Destination=destination)).code == code


def test_metrics_are_taken_alone():
    assert one(v2(Destination=to(Metrics=ON))).metrics


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (v2(SourceSelectionCriteria={"SseKmsEncryptedObjects": ON}), "SseKmsEncryptedObjects"),
        (v2(Destination=to(EncryptionConfiguration={"ReplicaKmsKeyID": "k"})), "EncryptionConfiguration"),
        (v2(Destination=to(StorageClass="GLACIER")), "GLACIER"),
    ],
)
def test_what_atoll_does_not_do_is_named(rule, name):
    error = refusal(rule)
    assert (error.code, name in error.message) == ("NotImplemented", True)


@pytest.mark.parametrize("rules", [[], [v2(Priority=n, ID=str(n)) for n in range(1001)]], ids=["none", "too-many"])
def test_a_configuration_has_one_to_a_thousand_rules(rules):
    with pytest.raises(ApiError, match="MalformedXML"):
        parse(configuration(*rules))


@pytest.mark.parametrize(
    "role",
    [
        "",
        "replicate",
        "arn:aws:iam::111122223333:user/u",
        "arn:aws-cn:iam::111122223333:role/copier",
        "arn:aws:iam::111122223333:role/copier ",
        " arn:aws:iam::111122223333:role/copier",
        "arn:aws:iam::111122223333:role/copier\n",
        "arn:aws:iam::111122223333:role/",
        "arn:aws:iam::111122223333:role/team/",
        "arn:aws:iam::111122223333:role/two words",
        "arn:aws:iam::111122223333:role/*",
        "arn:aws:iam::111122223333:Role/copier",
        "arn:aws:IAM::111122223333:role/copier",
        "ARN:aws:iam::111122223333:role/copier",
        "arn:aws:iam:us-east-1:111122223333:role/copier",
        "arn:aws:iam::11112222333:role/copier",
        "arn:aws:iam::\u0661\u0661\u0661\u0661\u0662\u0662\u0662\u0662\u0663\u0663\u0663\u0663:role/copier",
        "arn:aws:iam:::role/copier",
        "arn:aws:sts::111122223333:assumed-role/copier/session",
        "arn:aws:iam::111122223333:role/" + "x" * 65,
    ],
)
def test_the_role_is_the_arn_of_a_role_as_iam_writes_it(role):
    with pytest.raises(ApiError) as caught:
        parse({"Role": role, "Rules": [v2()]})
    assert (caught.value.code, caught.value.message) == ("InvalidArgument", "Invalid Role ARN")
    assert caught.value.details["ArgumentName"] == "Role"


@pytest.mark.parametrize("role", [ROLE, "arn:aws:iam::111122223333:role/team/a/copier", "arn:aws:iam::111122223333:role/A+=,.@-_z"])
def test_a_role_may_have_a_path_and_every_character_of_a_role_name(role):
    assert parse({"Role": role, "Rules": [v2()]}).role == role


@pytest.mark.parametrize(
    "bucket",
    [
        "arn:aws-cn:s3:::there",
        "arn:aws:s3:::there ",
        " arn:aws:s3:::there",
        "arn:aws:S3:::there",
        "arn:aws:s3:::There",
        "arn:aws:s3:::*",
        "arn:aws:s3:::",
        "arn:aws:s3:::there/",
        "arn:aws:s3:us-east-1::there",
        "arn:aws:s3::111122223333:there",
        "arn:aws:s3::111122223333:accesspoint/mabc.mrap",
        "arn:aws:s3-outposts:::there",
        "there",
    ],
)
def test_a_destination_is_the_arn_of_a_bucket_as_s3_writes_it(bucket):
    assert refusal(v2(Destination={"Bucket": bucket})).code == "InvalidArgument"


def test_equal_priorities_are_refused():
    with pytest.raises(ApiError, match="priorities"):
        parse(configuration(v2(), v2()))


def test_equal_ids_are_refused():
    with pytest.raises(ApiError, match="IDs"):
        parse(configuration(v2(ID="r"), v2(ID="r", Priority=2)))


def test_rules_without_an_id_get_one_that_stays_the_same():
    given = configuration(v2(), v2(ID="mine", Priority=2), v1())
    ids = [rule["ID"] for rule in named(given)["Rules"]]
    assert ids == [rule.id for rule in parse(given).rules] == [rule.id for rule in parse(named(given)).rules]
    assert ids[1] == "mine"
    assert len(set(ids)) == 3


def test_destinations_are_those_of_enabled_rules_each_once():
    rules = parse(configuration(v2(), v2(Priority=2), v2(Priority=3, Status="Disabled", Destination={"Bucket": "arn:aws:s3:::off"})))
    assert rules.destinations == ("there",)


def test_a_configuration_between_versioned_buckets_of_one_owner_passes():
    check(parse(configuration(v2(Destination=to(Account="111122223333")))), "here", SIDE, {"there": SIDE}.get)


@pytest.mark.parametrize(
    ("source", "there", "account", "code"),
    [
        (BucketSettings("", "111122223333"), SIDE, None, "InvalidRequest"),
        (BucketSettings("Suspended", "111122223333"), SIDE, None, "InvalidRequest"),
        (SIDE, None, None, "InvalidRequest"),
        (SIDE, BucketSettings("Suspended", "111122223333"), None, "InvalidRequest"),
        (SIDE, SIDE, "999900001111", "InvalidArgument"),
    ],
    ids=["unversioned", "suspended", "gone", "unversioned-there", "not-the-owner"],
)
def test_a_configuration_that_its_buckets_do_not_allow_is_refused(source, there, account, code):
    rules = parse(configuration(v2(Destination=to(Account=account))))
    with pytest.raises(ApiError, match=code):
        check(rules, "here", source, {"there": there}.get)


THEIRS = BucketSettings("Enabled", "999900001111")
OVERRIDE = {"Owner": "Destination"}


@pytest.mark.parametrize("account", [None, "999900001111"])
def test_a_bucket_of_another_account_may_be_the_destination_named_with_its_owner_or_not(account):
    rules = parse(configuration(v2(Destination=to(Account=account))))
    check(rules, "here", SIDE, {"there": THEIRS}.get)
    assert not rules.rules[0].owner_override


def test_the_owner_of_the_copies_is_overridden_where_the_rule_says_so():
    rules = parse(configuration(v2(Destination=to(Account="999900001111", AccessControlTranslation=OVERRIDE))))
    check(rules, "here", SIDE, {"there": THEIRS}.get)
    assert rules.rules[0].owner_override


def test_in_one_account_there_is_no_owner_to_override():
    rules = parse(configuration(v2(Destination=to(Account=SIDE.owner, AccessControlTranslation=OVERRIDE))))
    with pytest.raises(ApiError, match="InvalidRequest"):
        check(rules, "here", SIDE, {"there": SIDE}.get)


def test_a_bucket_does_not_replicate_to_itself():
    with pytest.raises(ApiError, match="another bucket"):
        check(parse(configuration(v2())), "there", SIDE, {"there": SIDE}.get)
