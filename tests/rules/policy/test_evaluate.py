import json

import pytest

from atoll.domain.caller import ANONYMOUS, Caller
from atoll.rules.policy.evaluate import OWNER, assume, evaluate
from atoll.rules.policy.model import AccessRequest, Attached, ProtectedResource
from atoll.rules.policy.parse import parse

A, B = "111122223333", "444455556666"
BUCKET, OBJECT = "arn:aws:s3:::demo", "arn:aws:s3:::demo/a/b.txt"
USER = f"arn:aws:iam::{A}:user/ann"
ROLE = f"arn:aws:iam::{A}:role/team/reader"
SESSION = f"arn:aws:sts::{A}:assumed-role/reader/shift"
ROOT_A, ROOT_B = f"arn:aws:iam::{A}:root", f"arn:aws:iam::{B}:root"

ann = Caller("user", A, USER, "AIDAANN", "ann")
reader = Caller("role", A, SESSION, "AROAREADER:shift", role_arn=ROLE)
root = Caller("root", A, ROOT_A, A)
bob = Caller("user", B, f"arn:aws:iam::{B}:user/bob", "AIDABOB", "bob")
root_b = Caller("root", B, ROOT_B, B)
cloudfront = Caller("service", service="cloudfront.amazonaws.com", source_arn=f"arn:aws:cloudfront::{A}:distribution/E1")

YES, NO, DENY = "Allowed", "ImplicitlyDenied", "ExplicitlyDenied"


def st(effect, who=None, action="s3:GetObject", resource="*", sid="", **more):
    made = {"Effect": effect, "Action": action, "Resource": resource, **more}
    made |= {"Sid": sid} if sid else {}
    return made | ({"Principal": who} if who is not None else {})


def policy(*statements, kind="identity"):
    return parse(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}), kind=kind)


def decide(
    caller, own=None, identity=(), boundary=None, session=(), scps=(), rcps=(), action="s3:GetObject", arn=OBJECT,
    account=A, restrict=False, context=None, canonical="",
):  # fmt: skip
    """One resource; every policy is given as a list of statements."""
    attached = Attached(policy(*own, kind="resource"), "bucket policy of demo") if own else None
    return evaluate(
        AccessRequest(caller, action, (ProtectedResource(arn, account, attached, restrict_public=restrict),), context or {}, canonical),
        identity=[Attached(policy(*identity), "user policy")] if identity else [],
        boundary=policy(*boundary) if boundary else None,
        session=[policy(*one) for one in session],
        scps=[[policy(*one) for one in level] for level in scps],
        rcps=[[policy(*one, kind="resource") for one in level] for level in rcps],
    ).outcome


ALLOW, OTHER, DENIES = [st("Allow")], [st("Allow", action="ec2:*")], [st("Deny")]
ALL, NONE = st("Allow", "*"), st("Allow", "*", action="s3:PutObject")


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param(dict(identity=[st("Allow"), st("Deny")]), DENY, id="an identity deny beats an identity allow"),
        pytest.param(dict(identity=ALLOW, own=[st("Deny", "*")]), DENY, id="a bucket deny beats an identity allow"),
        pytest.param(dict(identity=DENIES, own=[st("Allow", {"AWS": USER})]), DENY, id="an identity deny beats a bucket grant"),
        pytest.param(dict(identity=ALLOW, boundary=[st("Allow"), st("Deny")]), DENY, id="a boundary deny is final"),
        pytest.param(dict(own=[st("Allow", {"AWS": USER})], boundary=DENIES), DENY, id="a boundary deny beats a user grant"),
        pytest.param(dict(identity=ALLOW, scps=[[DENIES]]), DENY, id="an scp deny is final"),
        pytest.param(dict(identity=ALLOW, rcps=[[[st("Deny", "*")]]]), DENY, id="an rcp deny is final"),
        pytest.param(dict(identity=ALLOW, scps=[[OTHER], [DENIES]]), DENY, id="a deny is found before a missing scp allow"),
        pytest.param(dict(identity=ALLOW, scps=[[ALLOW]]), YES, id="one scp level that allows"),
        pytest.param(dict(identity=ALLOW, scps=[[ALLOW], [OTHER]]), NO, id="every scp level must allow"),
        pytest.param(dict(identity=ALLOW, scps=[[OTHER, ALLOW]]), YES, id="within a level one scp is enough"),
        pytest.param(dict(identity=ALLOW, scps=[[]]), NO, id="an scp level without policies allows nothing"),
        pytest.param(dict(scps=[[ALLOW]]), NO, id="an scp gives nothing"),
        pytest.param(dict(identity=ALLOW, rcps=[[[st("Deny", "*", "s3:PutObject")]]]), YES, id="an rcp for another action"),
        pytest.param(dict(identity=ALLOW, rcps=[[]]), YES, id="an rcp level without policies has full access"),
        pytest.param(dict(rcps=[[[ALL]]]), NO, id="an rcp gives nothing"),
        pytest.param(dict(own=[st("Allow", {"AWS": USER})]), YES, id="a grant to the user is enough"),
        pytest.param(dict(own=[ALL]), YES, id="a grant to everybody is enough"),
        pytest.param(dict(own=[st("Allow", {"AWS": "*"})]), YES, id="AWS star is everybody"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROOT_A})]), NO, id="a grant to the root ARN only delegates"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})]), NO, id="a grant to the account number only delegates"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})], identity=ALLOW), YES, id="delegated and allowed"),
        pytest.param(dict(identity=ALLOW), YES, id="an identity allow without bucket policy"),
        pytest.param(dict(identity=ALLOW, own=[NONE]), YES, id="an identity allow with a bucket policy that is silent"),
        pytest.param(dict(), NO, id="nothing at all"),
        pytest.param(dict(own=[st("Allow", {"AWS": f"arn:aws:iam::{A}:user/eve"})]), NO, id="a grant to another user"),
        pytest.param(dict(own=[st("Allow")]), NO, id="a bucket statement without principal matches nobody"),
        pytest.param(dict(own=[st("Deny")], identity=ALLOW), YES, id="a bucket deny without principal matches nobody"),
        pytest.param(dict(identity=ALLOW, boundary=ALLOW), YES, id="boundary and identity allow"),
        pytest.param(dict(identity=ALLOW, boundary=OTHER), NO, id="a boundary caps identity grants"),
        pytest.param(dict(boundary=ALLOW), NO, id="a boundary gives nothing"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})], identity=ALLOW, boundary=OTHER), NO, id="a boundary caps delegation"),
        pytest.param(dict(own=[st("Allow", {"AWS": USER})], boundary=OTHER), YES, id="a boundary does not cap a user grant"),
        pytest.param(dict(own=[ALL], boundary=OTHER), YES, id="a boundary does not cap a grant to everybody"),
        pytest.param(dict(identity=ALLOW, action="s3:GetObjectVersion"), NO, id="GetObject does not cover GetObjectVersion"),
        pytest.param(dict(identity=ALLOW, action="S3:getobject"), YES, id="actions have no case"),
    ],
)  # fmt: skip
def test_a_user_in_the_owners_account(given, outcome):
    assert decide(ann, **given) == outcome


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param(dict(identity=ALLOW), NO, id="identity alone is not enough"),
        pytest.param(dict(own=[st("Allow", {"AWS": bob.arn})]), NO, id="a user grant alone is not enough"),
        pytest.param(dict(own=[ALL]), NO, id="a grant to everybody does not replace identity"),
        pytest.param(dict(own=[st("Allow", {"AWS": B})]), NO, id="an account grant alone is not enough"),
        pytest.param(dict(own=[ALL], identity=ALLOW), YES, id="everybody and identity"),
        pytest.param(dict(own=[st("Allow", {"AWS": bob.arn})], identity=ALLOW), YES, id="user grant and identity"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROOT_B})], identity=ALLOW), YES, id="account grant and identity"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})], identity=ALLOW), NO, id="a grant to another account"),
        pytest.param(dict(own=[st("Allow", {"AWS": bob.arn})], identity=ALLOW, boundary=OTHER), NO, id="the boundary caps"),
        pytest.param(dict(own=[st("Allow", {"AWS": bob.arn})], identity=ALLOW, boundary=ALLOW), YES, id="the boundary allows"),
        pytest.param(dict(own=[ALL, st("Deny", {"AWS": B})], identity=ALLOW), DENY, id="a deny of the account"),
        pytest.param(dict(own=[ALL], identity=[st("Allow"), st("Deny")]), DENY, id="an identity deny"),
        pytest.param(dict(own=[ALL], identity=ALLOW, scps=[[OTHER]]), NO, id="scps of the caller's organization"),
    ],
)  # fmt: skip
def test_a_user_of_another_account(given, outcome):
    assert decide(bob, **given) == outcome


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param(dict(identity=ALLOW), YES, id="by the role's policies"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})]), YES, id="a grant to the role reaches its sessions"),
        pytest.param(dict(own=[st("Allow", {"AWS": SESSION})]), YES, id="a grant to the session"),
        pytest.param(dict(own=[st("Allow", {"AWS": f"{SESSION}x"})]), NO, id="a grant to another session"),
        pytest.param(dict(own=[st("Deny", {"AWS": ROLE})], identity=ALLOW), DENY, id="a deny of the role"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})], boundary=OTHER), NO, id="the boundary caps a role grant"),
        pytest.param(dict(own=[st("Allow", {"AWS": SESSION})], boundary=OTHER), YES, id="the boundary does not cap a session grant"),
        pytest.param(dict(identity=ALLOW, session=[ALLOW]), YES, id="the session policy lets through"),
        pytest.param(dict(identity=ALLOW, session=[OTHER]), NO, id="the session policy caps identity"),
        pytest.param(dict(identity=ALLOW, session=[OTHER, ALLOW]), YES, id="one of several session policies is enough"),
        pytest.param(dict(session=[ALLOW]), NO, id="the session policy gives nothing"),
        pytest.param(dict(identity=ALLOW, session=[[st("Allow"), st("Deny")]]), DENY, id="a deny in the session policy"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})], session=[OTHER]), NO, id="the session policy caps a role grant"),
        pytest.param(dict(own=[st("Allow", {"AWS": SESSION})], session=[OTHER]), YES, id="a session grant comes on top of it"),
        pytest.param(dict(own=[st("Allow", {"AWS": SESSION})], session=[DENIES]), DENY, id="its deny beats a session grant"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})], identity=ALLOW, session=[OTHER]), NO, id="it caps delegation"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})], account=B), NO, id="another account's bucket needs identity too"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})], identity=ALLOW, account=B), YES, id="another account's bucket, both"),
        pytest.param(dict(own=[st("Allow", {"AWS": ROLE})], identity=ALLOW, session=[OTHER], account=B), NO, id="and capped there"),
    ],
)  # fmt: skip
def test_a_role_session(given, outcome):
    assert decide(reader, **given) == outcome


@pytest.mark.parametrize(
    ("caller", "given", "outcome"),
    [
        pytest.param(root, dict(), YES, id="the owner's root needs no policy"),
        pytest.param(root, dict(own=[NONE]), YES, id="nor a bucket policy that names it"),
        pytest.param(root, dict(own=[st("Deny", "*")]), DENY, id="but its bucket policy can deny it"),
        pytest.param(root, dict(own=[st("Deny", "*", "*")], action="s3:GetBucketPolicy", arn=BUCKET), YES, id="not reading it"),
        pytest.param(root, dict(own=[st("Deny", "*", "*")], action="s3:PutBucketPolicy", arn=BUCKET), YES, id="not replacing it"),
        pytest.param(root, dict(own=[st("Deny", "*", "*")], action="s3:DeleteBucketPolicy", arn=BUCKET), YES, id="not deleting it"),
        pytest.param(root, dict(own=[st("Deny", "*", "*")], action="s3:ListBucket", arn=BUCKET), DENY, id="anything else it can"),
        pytest.param(root, dict(scps=[[OTHER]]), NO, id="scps hold for the root of a member account"),
        pytest.param(root, dict(rcps=[[[st("Deny", "*")]]]), DENY, id="rcps hold for root"),
        pytest.param(root_b, dict(), NO, id="a stranger's root"),
        pytest.param(root_b, dict(own=[st("Allow", {"AWS": B})]), YES, id="a stranger's root whose account is granted"),
        pytest.param(root_b, dict(own=[ALL]), YES, id="a stranger's root on a bucket for everybody"),
        pytest.param(root_b, dict(own=[ALL, st("Deny", {"AWS": ROOT_B})]), DENY, id="a stranger's root that is denied"),
        pytest.param(root_b, dict(own=[st("Deny", "*", "*")], action="s3:GetBucketPolicy", arn=BUCKET), DENY, id="only the owner regains"),
        pytest.param(ann, dict(own=[st("Deny", "*", "*")], identity=[st("Allow", action="*")], action="s3:GetBucketPolicy", arn=BUCKET), DENY, id="only root regains"),
    ],
)  # fmt: skip
def test_the_root_user(caller, given, outcome):
    assert decide(caller, **given) == outcome


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param(dict(), NO, id="no policy"),
        pytest.param(dict(own=[ALL]), YES, id="star"),
        pytest.param(dict(own=[st("Allow", {"AWS": "*"})]), YES, id="AWS star"),
        pytest.param(dict(own=[st("Allow", {"AWS": [USER, "*"]})]), YES, id="star among others"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})]), NO, id="an account"),
        pytest.param(dict(own=[st("Allow", {"AWS": USER})]), NO, id="a user"),
        pytest.param(dict(own=[st("Allow", {"Service": "cloudfront.amazonaws.com"})]), NO, id="a service"),
        pytest.param(dict(own=[st("Allow", {"Federated": "cognito-identity.amazonaws.com"})]), NO, id="a provider"),
        pytest.param(dict(own=[ALL, st("Deny", "*")]), DENY, id="a deny of everybody"),
        pytest.param(dict(own=[ALL, st("Deny", {"AWS": A})]), YES, id="a deny of an account"),
        pytest.param(dict(own=[ALL], rcps=[[[st("Deny", "*")]]]), DENY, id="an rcp"),
        pytest.param(dict(own=[ALL], scps=[[DENIES]]), YES, id="scps are not for strangers"),
        pytest.param(dict(own=[ALL], scps=[[OTHER]]), YES, id="missing scp allows neither"),
        pytest.param(dict(own=[{"Effect": "Allow", "NotPrincipal": {"AWS": USER}, "Action": "*", "Resource": "*"}]), YES, id="everybody but a user"),
        pytest.param(dict(own=[{"Effect": "Allow", "NotPrincipal": "*", "Action": "*", "Resource": "*"}]), NO, id="everybody but everybody"),
        pytest.param(dict(own=[ALL, {"Effect": "Deny", "NotPrincipal": {"AWS": USER}, "Action": "*", "Resource": "*"}]), DENY, id="denied but a user"),
        pytest.param(dict(own=[st("Allow", "*", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})], context={"aws:sourceip": "10.1.2.3"}), YES, id="condition holds"),
        pytest.param(dict(own=[st("Allow", "*", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})], context={}), NO, id="condition key absent"),
    ],
)  # fmt: skip
def test_an_anonymous_caller(given, outcome):
    assert decide(ANONYMOUS, **given) == outcome


OF_E1 = {"StringEquals": {"aws:SourceArn": cloudfront.source_arn}}


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param(dict(), NO, id="no policy"),
        pytest.param(dict(own=[st("Allow", {"Service": "cloudfront.amazonaws.com"})]), YES, id="by name"),
        pytest.param(dict(own=[st("Allow", {"Service": "lambda.amazonaws.com"})]), NO, id="by another name"),
        pytest.param(dict(own=[ALL]), YES, id="star is services too"),
        pytest.param(dict(own=[st("Allow", {"AWS": "*"})]), YES, id="AWS star is services too"),
        pytest.param(dict(own=[st("Allow", {"AWS": A})]), NO, id="the account is not"),
        pytest.param(dict(own=[st("Allow", {"Service": "cloudfront.amazonaws.com"}, Condition=OF_E1)], context={"aws:sourcearn": cloudfront.source_arn}), YES, id="for its distribution"),
        pytest.param(dict(own=[st("Allow", {"Service": "cloudfront.amazonaws.com"}, Condition=OF_E1)], context={"aws:sourcearn": "arn:aws:cloudfront::1:distribution/E2"}), NO, id="for another distribution"),
        pytest.param(dict(own=[ALL], restrict=True), YES, id="RestrictPublicBuckets lets services in"),
        pytest.param(dict(own=[ALL], scps=[[OTHER]]), YES, id="scps are not for services"),
    ],
)  # fmt: skip
def test_a_service(given, outcome):
    assert decide(cloudfront, **given) == outcome


NARROW = st("Allow", {"AWS": bob.arn})


@pytest.mark.parametrize(
    ("caller", "given", "outcome"),
    [
        pytest.param(ANONYMOUS, dict(own=[ALL]), DENY, id="strangers are cut off"),
        pytest.param(bob, dict(own=[ALL, NARROW], identity=ALLOW), DENY, id="other accounts are, even when named"),
        pytest.param(bob, dict(own=[NARROW], identity=ALLOW), YES, id="not where the policy is not public"),
        pytest.param(ann, dict(own=[ALL]), YES, id="the owner's account stays"),
        pytest.param(root, dict(own=[ALL]), YES, id="the owner's root stays"),
    ],
)  # fmt: skip
def test_restrict_public_buckets(caller, given, outcome):
    assert decide(caller, restrict=True, **given) == outcome


NOT_ANN = {"Effect": "Deny", "NotPrincipal": {"AWS": USER}, "Action": "s3:*", "Resource": "*"}
NOT_ROLE = {"Effect": "Deny", "NotPrincipal": {"AWS": ROLE}, "Action": "s3:*", "Resource": "*"}
NOT_A = {"Effect": "Deny", "NotPrincipal": {"AWS": A}, "Action": "s3:*", "Resource": "*"}
NOT_BOB_AND_A = {"Effect": "Deny", "NotPrincipal": {"AWS": [bob.arn, ROOT_A]}, "Action": "s3:*", "Resource": "*"}
BUT_BOB = {"Effect": "Allow", "NotPrincipal": {"AWS": bob.arn}, "Action": "s3:*", "Resource": "*"}


@pytest.mark.parametrize(
    ("caller", "given", "outcome"),
    [
        pytest.param(ann, dict(own=[NOT_ANN], identity=ALLOW), YES, id="the listed user passes"),
        pytest.param(reader, dict(own=[NOT_ANN], identity=ALLOW), DENY, id="others do not"),
        pytest.param(reader, dict(own=[NOT_ROLE], identity=ALLOW), YES, id="a session of the listed role passes"),
        pytest.param(root, dict(own=[NOT_A], identity=ALLOW), YES, id="the root user of the listed account passes"),
        pytest.param(ann, dict(own=[NOT_A], identity=ALLOW), DENY, id="a user of the listed account does not"),
        pytest.param(reader, dict(own=[NOT_A], identity=ALLOW), DENY, id="nor a role of it"),
        pytest.param(ann, dict(own=[ALL, NOT_BOB_AND_A], identity=ALLOW), DENY, id="nor beside a user who is listed (case S56)"),
        pytest.param(bob, dict(own=[ALL, NOT_BOB_AND_A], identity=ALLOW), YES, id="the listed user of another account passes"),
        pytest.param(bob, dict(own=[ALL, NOT_A], identity=ALLOW), DENY, id="another account does not"),
        pytest.param(ann, dict(own=[NOT_ANN], identity=ALLOW, boundary=ALLOW), DENY, id="who has a boundary never passes"),
        pytest.param(ann, dict(own=[BUT_BOB]), YES, id="allow everybody else"),
        pytest.param(bob, dict(own=[BUT_BOB], identity=ALLOW), NO, id="but the one"),
    ],
)  # fmt: skip
def test_not_principal(caller, given, outcome):
    assert decide(caller, **given) == outcome


CANONICAL = "a" * 64


@pytest.mark.parametrize(
    ("canonical", "outcome"), [(CANONICAL, YES), ("b" * 64, NO), ("", NO)], ids=["of the caller", "of another", "unknown"]
)
def test_a_canonical_user_is_the_account_with_that_id(canonical, outcome):
    own = [st("Allow", {"CanonicalUser": CANONICAL})]
    assert decide(bob, own=own, identity=ALLOW, canonical=canonical) == outcome


@pytest.mark.parametrize(
    ("element", "arn", "outcome"),
    [
        pytest.param({"Resource": "arn:aws:s3:::demo/*"}, OBJECT, YES, id="objects"),
        pytest.param({"Resource": "arn:aws:s3:::demo/*"}, BUCKET, NO, id="objects are not the bucket"),
        pytest.param({"Resource": "arn:aws:s3:::demo"}, OBJECT, NO, id="the bucket is not its objects"),
        pytest.param({"Resource": "arn:aws:s3:::demo*"}, BUCKET, YES, id="a pattern for both: the bucket"),
        pytest.param({"Resource": "arn:aws:s3:::demo*"}, OBJECT, YES, id="a pattern for both: an object"),
        pytest.param({"Resource": "arn:aws:s3:::dem"}, BUCKET, NO, id="a name is no prefix"),
        pytest.param({"Resource": "arn:aws:s3:::demo/A/b.txt"}, OBJECT, NO, id="resources have case"),
        pytest.param({"Resource": "arn:aws:s3:::demo/?/b.txt"}, OBJECT, YES, id="a question mark"),
        pytest.param({"Resource": "*"}, OBJECT, YES, id="star"),
        pytest.param({"Resource": "arn:*"}, OBJECT, YES, id="a short pattern"),
        pytest.param({"Resource": "arn:aws:s3:*"}, OBJECT, YES, id="a longer short pattern"),
        pytest.param({"Resource": "arn:*:s3:*:*:demo/*"}, OBJECT, YES, id="wildcards in every section"),
        pytest.param({"Resource": "arn:aws:s3:::other/*"}, OBJECT, NO, id="another bucket"),
        pytest.param({"Resource": ["arn:aws:s3:::other/*", "arn:aws:s3:::demo/*"]}, OBJECT, YES, id="one of several"),
        pytest.param({"Resource": "arn:aws:s3:::demo"}, "*", NO, id="an ARN is not the star of ListBuckets"),
        pytest.param({"Resource": "*"}, "*", YES, id="star is"),
        pytest.param({"NotResource": "arn:aws:s3:::other/*"}, OBJECT, YES, id="not the other"),
        pytest.param({"NotResource": "arn:aws:s3:::demo/*"}, OBJECT, NO, id="not this"),
        pytest.param({"NotResource": ["arn:aws:s3:::other/*", "arn:aws:s3:::demo/*"]}, OBJECT, NO, id="not these"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${aws:username}/*"}, "arn:aws:s3:::demo/ann/x", YES, id="own folder"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${aws:username}/*"}, "arn:aws:s3:::demo/bob/x", NO, id="another's folder"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${aws:gone}*"}, OBJECT, NO, id="unresolved in Resource"),
        pytest.param({"NotResource": "arn:aws:s3:::other/${aws:gone}"}, OBJECT, NO, id="unresolved in NotResource"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${aws:gone, 'a'}/*"}, OBJECT, YES, id="a default"),
        pytest.param({"Resource": ["arn:aws:s3:::demo/${aws:gone}", "arn:aws:s3:::demo/a/*"]}, OBJECT, YES, id="the resolved one of two"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${*}"}, OBJECT, NO, id="a literal star"),
        pytest.param({"Resource": "arn:aws:s3:::demo/${*}"}, "arn:aws:s3:::demo/*", YES, id="a literal star, itself"),
    ],
)  # fmt: skip
def test_which_resources_a_statement_covers(element, arn, outcome):
    identity = [{"Effect": "Allow", "Action": "*", **element}]
    assert decide(ann, identity=identity, arn=arn, context={"aws:username": "ann"}) == outcome


@pytest.mark.parametrize(
    ("element", "outcome"),
    [
        pytest.param({"Action": "s3:GetObject"}, YES, id="exact"),
        pytest.param({"Action": "s3:getOBJECT"}, YES, id="without case"),
        pytest.param({"Action": "s3:Get*"}, YES, id="star"),
        pytest.param({"Action": "s3:?etObject"}, YES, id="question mark"),
        pytest.param({"Action": "*"}, YES, id="only a star"),
        pytest.param({"Action": ["s3:PutObject", "s3:*Object"]}, YES, id="one of several"),
        pytest.param({"Action": "s3:Put*"}, NO, id="another"),
        pytest.param({"Action": " s3:GetObject"}, NO, id="a blank in front matches nothing"),
        pytest.param({"Action": "s3:GetObject "}, NO, id="a blank behind matches nothing"),
        pytest.param({"Action": "s3:GetObject,"}, NO, id="a comma matches nothing"),
        pytest.param({"Action": "s3:Get*,s3:Put*"}, NO, id="a list in one text matches nothing"),
        pytest.param({"NotAction": "s3:GetObject"}, NO, id="not this"),
        pytest.param({"NotAction": "s3:Put*"}, YES, id="not the other"),
        pytest.param({"NotAction": "s3:GetObject "}, YES, id="not what matches nothing"),
    ],
)
def test_which_actions_a_statement_covers(element, outcome):
    assert decide(ann, identity=[{"Effect": "Allow", "Resource": "*", **element}]) == outcome


POINT = f"arn:aws:s3::{A}:accesspoint/mabc.mrap"
THROUGH = POINT + "/object/a/b.txt"
ID_BOTH = [st("Allow", resource=[f"{POINT}/object/*", "arn:aws:s3:::demo/*"])]


@pytest.mark.parametrize(
    ("caller", "point", "bucket", "identity", "outcome"),
    [
        pytest.param(ann, [], [], ID_BOTH, YES, id="identity on both ARNs, no policies"),
        pytest.param(ann, [], [], [st("Allow", resource="arn:aws:s3:::demo/*")], NO, id="identity on the bucket alone"),
        pytest.param(ann, [], [], [st("Allow", resource=f"{POINT}/object/*")], NO, id="identity on the access point alone"),
        pytest.param(ann, [ALL], [ALL], [], YES, id="both policies allow everybody"),
        pytest.param(ann, [ALL], [], [], NO, id="only the access point's policy allows"),
        pytest.param(ann, [NONE], [NONE], ID_BOTH, YES, id="policies without an opinion"),
        pytest.param(ann, [st("Deny", "*")], [], ID_BOTH, DENY, id="a deny of the access point"),
        pytest.param(ann, [], [st("Deny", "*")], ID_BOTH, DENY, id="a deny of the bucket"),
        pytest.param(bob, [ALL], [ALL], ID_BOTH, YES, id="another account, both allow"),
        pytest.param(bob, [ALL], [], ID_BOTH, NO, id="another account, bucket silent"),
        pytest.param(bob, [], [ALL], ID_BOTH, NO, id="another account, access point silent"),
        pytest.param(bob, [ALL], [ALL], [], NO, id="another account without identity"),
        pytest.param(cloudfront, [ALL], [ALL], [], YES, id="a service, both allow"),
        pytest.param(cloudfront, [ALL], [], [], NO, id="a service, bucket silent"),
        pytest.param(root, [], [], [], YES, id="root needs neither"),
        pytest.param(ann, [st("Allow", "*", resource="arn:aws:s3:::demo/*")], [ALL], [], NO, id="each policy is judged with its own ARN"),
    ],
)  # fmt: skip
def test_a_call_through_a_multi_region_access_point(caller, point, bucket, identity, outcome):
    guards = (
        ProtectedResource(THROUGH, A, Attached(policy(*point, kind="resource"), "point") if point else None),
        ProtectedResource(OBJECT, A, Attached(policy(*bucket, kind="resource"), "bucket") if bucket else None),
    )
    asked = AccessRequest(caller, "s3:GetObject", guards, {})
    assert evaluate(asked, identity=[Attached(policy(*identity), "user policy")] if identity else []).outcome == outcome


def test_a_bucket_of_another_account_must_let_the_access_point_in():
    delegated = policy(st("Allow", "*", Condition={"StringEquals": {"s3:DataAccessPointArn": POINT}}), kind="resource")
    guards = (ProtectedResource(THROUGH, A), ProtectedResource(OBJECT, B, Attached(delegated, "bucket")))
    identity = [Attached(policy(*ID_BOTH), "user policy")]
    inside = AccessRequest(ann, "s3:GetObject", guards, {"s3:dataaccesspointarn": POINT})
    assert evaluate(inside, identity=identity).allowed
    assert not evaluate(AccessRequest(ann, "s3:GetObject", guards, {}), identity=identity).allowed


@pytest.mark.parametrize(
    ("caller", "trust", "identity", "outcome"),
    [
        pytest.param(ann, {"AWS": USER}, [], YES, id="a trusted user"),
        pytest.param(ann, {"AWS": A}, [], NO, id="a trusted account leaves it to identity"),
        pytest.param(ann, {"AWS": A}, [st("Allow", action="sts:AssumeRole")], YES, id="which allows"),
        pytest.param(ann, {"AWS": bob.arn}, [st("Allow", action="sts:*")], NO, id="identity alone is not enough"),
        pytest.param(ann, {"AWS": USER}, [st("Deny", action="sts:*")], DENY, id="an identity deny"),
        pytest.param(bob, {"AWS": bob.arn}, [], NO, id="another account needs identity"),
        pytest.param(bob, {"AWS": bob.arn}, [st("Allow", action="sts:*")], YES, id="another account with both"),
        pytest.param(Caller("service", service="s3.amazonaws.com"), {"Service": "s3.amazonaws.com"}, [], YES, id="a service"),
        pytest.param(Caller("service", service="s3.amazonaws.com"), {"Service": "ec2.amazonaws.com"}, [], NO, id="another service"),
        pytest.param(root, {"AWS": A}, [], NO, id="root cannot assume roles"),
        pytest.param(reader, {"AWS": ROLE}, [], YES, id="a trusted role"),
        pytest.param(ANONYMOUS, "*", [], YES, id="everybody"),
    ],
)  # fmt: skip
def test_assuming_a_role(caller, trust, identity, outcome):
    text = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": trust, "Action": "sts:AssumeRole"}}
    decision = assume(
        parse(json.dumps(text), kind="trust"),
        caller=caller,
        role_arn=ROLE,
        account=A,
        context={},
        identity=[Attached(policy(*identity), "user policy")] if identity else [],
    )
    assert decision.outcome == outcome


def test_a_trust_policy_asks_for_the_external_id():
    text = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow", "Principal": {"AWS": USER}, "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"sts:ExternalId": "42"}},
        },
    }  # fmt: skip
    trust = parse(json.dumps(text), kind="trust")
    assert assume(trust, caller=ann, role_arn=ROLE, account=A, context={"sts:externalid": "42"}).allowed
    assert not assume(trust, caller=ann, role_arn=ROLE, account=A, context={}).allowed


def test_a_key_policy_must_allow_even_at_home():
    protected_resource = ProtectedResource("arn:aws:kms:us-east-1:1:key/k", A, must_allow=True)
    asked = AccessRequest(ann, "kms:Decrypt", (protected_resource,), {})
    assert not evaluate(asked, identity=[Attached(policy(st("Allow", action="*")), "user policy")]).allowed


def test_the_decision_names_the_statement_by_its_sid():
    identity = [Attached(policy(st("Allow", sid="Read")), "user policy reader")]
    decision = evaluate(AccessRequest(ann, "s3:GetObject", (ProtectedResource(OBJECT, A),), {}), identity=identity)
    assert decision.statement == 'user policy reader, statement "Read"'


def test_the_decision_names_a_denying_statement_by_its_number():
    own = Attached(policy(ALL, st("Deny", "*"), kind="resource"), "bucket policy of demo")
    decision = evaluate(AccessRequest(ann, "s3:GetObject", (ProtectedResource(OBJECT, A, own),), {}))
    assert decision.statement == "bucket policy of demo, statement number 2"
    assert decision.reason == "explicit deny in bucket policy of demo"


def test_an_unguarded_resource_of_root_is_decided_at_once():
    assert evaluate(AccessRequest(root, "s3:GetObject", (ProtectedResource(OBJECT, A),), {})) is OWNER


@pytest.mark.parametrize("caller", [root, ann], ids=["root", "a user"])
def test_a_question_about_no_resource_is_not_allowed(caller):
    asked = AccessRequest(caller, "s3:GetObject", (), {})
    assert not evaluate(asked, identity=[Attached(policy(st("Allow")), "user policy")]).allowed


def test_conditions_are_not_looked_at_when_action_or_resource_do_not_fit():
    class Untouchable:
        def get(self, key, /):
            raise AssertionError(key)

    identity = [st("Allow", action="s3:PutObject", Condition={"Bool": {"aws:SecureTransport": "true"}})]
    asked = AccessRequest(ann, "s3:GetObject", (ProtectedResource(OBJECT, A),), Untouchable())
    assert evaluate(asked, identity=[Attached(policy(*identity), "user policy")]).outcome == NO


def test_a_statement_with_an_unknown_operator_never_applies():
    odd = {"StringSounds": {"aws:username": "ann"}}
    assert decide(ann, identity=[st("Allow", Condition=odd)], context={"aws:username": "ann"}) == NO
    assert decide(ann, identity=[st("Allow"), st("Deny", Condition=odd)], context={"aws:username": "ann"}) == YES
