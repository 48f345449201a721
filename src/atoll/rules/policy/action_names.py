"""All actions, and the kind of resource each acts on.

Source: Service Authorization Reference, "Actions, resources, and condition keys" for Amazon S3, IAM and STS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from atoll.rules.policy.patterns import glob

Level = Literal["account", "bucket", "object", "point", "other"]

_BUCKET = """
CreateBucket CreateBucketMetadataTableConfiguration DeleteBucket DeleteBucketMetadataTableConfiguration DeleteBucketPolicy
DeleteBucketWebsite GetAccelerateConfiguration GetAnalyticsConfiguration GetBucketAbac GetBucketAcl GetBucketCORS
GetBucketLocation GetBucketLogging GetBucketMetadataTableConfiguration GetBucketNotification
GetBucketObjectLockConfiguration GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus
GetBucketPublicAccessBlock GetBucketRequestPayment GetBucketTagging GetBucketVersioning GetBucketWebsite
GetEncryptionConfiguration GetIntelligentTieringConfiguration GetInventoryConfiguration GetLifecycleConfiguration
GetMetricsConfiguration GetReplicationConfiguration ListBucket ListBucketMultipartUploads ListBucketVersions
PutAccelerateConfiguration PutAnalyticsConfiguration PutBucketAbac PutBucketAcl PutBucketCORS PutBucketLogging
PutBucketNotification PutBucketObjectLockConfiguration PutBucketOwnershipControls PutBucketPolicy
PutBucketPublicAccessBlock PutBucketRequestPayment PutBucketTagging PutBucketVersioning PutBucketWebsite
PutEncryptionConfiguration PutIntelligentTieringConfiguration PutInventoryConfiguration PutLifecycleConfiguration
PutMetricsConfiguration PutReplicationConfiguration UpdateBucketMetadataAnnotationTableConfiguration
UpdateBucketMetadataInventoryTableConfiguration UpdateBucketMetadataJournalTableConfiguration
"""
_OBJECT = """
AbortMultipartUpload BypassGovernanceRetention DeleteObject DeleteObjectAnnotation DeleteObjectTagging DeleteObjectVersion
DeleteObjectVersionTagging GetObject GetObjectAcl GetObjectAnnotation GetObjectAttributes GetObjectLegalHold
GetObjectRetention GetObjectTagging GetObjectTorrent GetObjectVersion GetObjectVersionAcl GetObjectVersionAttributes
GetObjectVersionForReplication GetObjectVersionTagging GetObjectVersionTorrent InitiateReplication ListMultipartUploadParts
ListObjectAnnotations ObjectOwnerOverrideToBucketOwner PutObject PutObjectAcl PutObjectAnnotation PutObjectLegalHold
PutObjectRetention PutObjectTagging PutObjectVersionAcl PutObjectVersionTagging ReplicateDelete ReplicateObject
ReplicateTags RestoreObject UpdateObjectEncryption
"""
_ACCOUNT = """
CreateAccessGrantsInstance CreateJob CreateStorageLensGroup GetAccountPublicAccessBlock ListAccessGrantsInstances
ListAccessPoints ListAccessPointsForObjectLambda ListAllMyBuckets ListCallerAccessGrants ListJobs
ListMultiRegionAccessPoints ListStorageLensConfigurations ListStorageLensGroups PutAccessPointPublicAccessBlock
PutAccountPublicAccessBlock PutStorageLensConfiguration
"""
_POINT = """
CreateAccessPoint CreateAccessPointForObjectLambda CreateMultiRegionAccessPoint DeleteAccessPoint DeleteAccessPointScope
DeleteAccessPointForObjectLambda DeleteAccessPointPolicy DeleteAccessPointPolicyForObjectLambda
DeleteMultiRegionAccessPoint DescribeMultiRegionAccessPointOperation GetAccessPoint
GetAccessPointConfigurationForObjectLambda GetAccessPointForObjectLambda GetAccessPointPolicy
GetAccessPointPolicyForObjectLambda GetAccessPointPolicyStatus GetAccessPointPolicyStatusForObjectLambda
GetMultiRegionAccessPoint GetMultiRegionAccessPointPolicy GetMultiRegionAccessPointPolicyStatus
GetAccessPointScope GetMultiRegionAccessPointRoutes PutAccessPointConfigurationForObjectLambda PutAccessPointPolicy
PutAccessPointPolicyForObjectLambda PutAccessPointScope PutMultiRegionAccessPointPolicy SubmitMultiRegionAccessPointRoutes
"""
_OTHER = """
AssociateAccessGrantsIdentityCenter CreateAccessGrant CreateAccessGrantsLocation DeleteAccessGrant
DeleteAccessGrantsInstance DeleteAccessGrantsInstanceResourcePolicy DeleteAccessGrantsLocation DeleteJobTagging
DeleteStorageLensConfiguration DeleteStorageLensConfigurationTagging DeleteStorageLensGroup DescribeJob
DissociateAccessGrantsIdentityCenter GetAccessGrant GetAccessGrantsInstance GetAccessGrantsInstanceForPrefix
GetAccessGrantsInstanceResourcePolicy GetAccessGrantsLocation GetDataAccess GetJobTagging GetStorageLensConfiguration
GetStorageLensConfigurationTagging GetStorageLensDashboard GetStorageLensGroup ListAccessGrants ListAccessGrantsLocations
ListTagsForResource PauseReplication PutAccessGrantsInstanceResourcePolicy PutJobTagging
PutStorageLensConfigurationTagging TagResource UntagResource UpdateAccessGrantsLocation UpdateJobPriority UpdateJobStatus
UpdateStorageLensGroup
"""
_IAM = """
AddClientIDToOpenIDConnectProvider AddRoleToInstanceProfile AddUserToGroup AttachGroupPolicy AttachRolePolicy
AttachUserPolicy ChangePassword CreateAccessKey CreateAccountAlias CreateGroup CreateInstanceProfile CreateLoginProfile
CreateOpenIDConnectProvider CreatePolicy CreatePolicyVersion CreateRole CreateSAMLProvider CreateServiceLinkedRole
CreateServiceSpecificCredential CreateUser CreateVirtualMFADevice DeactivateMFADevice DeleteAccessKey DeleteAccountAlias
DeleteAccountPasswordPolicy DeleteGroup DeleteGroupPolicy DeleteInstanceProfile DeleteLoginProfile
DeleteOpenIDConnectProvider DeletePolicy DeletePolicyVersion DeleteRole DeleteRolePermissionsBoundary DeleteRolePolicy
DeleteSAMLProvider DeleteSSHPublicKey DeleteServerCertificate DeleteServiceLinkedRole DeleteServiceSpecificCredential
DeleteSigningCertificate DeleteUser DeleteUserPermissionsBoundary DeleteUserPolicy DeleteVirtualMFADevice
DetachGroupPolicy DetachRolePolicy DetachUserPolicy EnableMFADevice GenerateCredentialReport
GenerateOrganizationsAccessReport GenerateServiceLastAccessedDetails GetAccessKeyLastUsed GetAccountAuthorizationDetails
GetAccountPasswordPolicy GetAccountSummary GetContextKeysForCustomPolicy GetContextKeysForPrincipalPolicy
GetCredentialReport GetGroup GetGroupPolicy GetInstanceProfile GetLoginProfile GetMFADevice GetOpenIDConnectProvider
GetOrganizationsAccessReport GetPolicy GetPolicyVersion GetRole GetRolePolicy GetSAMLProvider GetSSHPublicKey
GetServerCertificate GetServiceLastAccessedDetails GetServiceLastAccessedDetailsWithEntities
GetServiceLinkedRoleDeletionStatus GetUser GetUserPolicy ListAccessKeys ListAccountAliases ListAttachedGroupPolicies
ListAttachedRolePolicies ListAttachedUserPolicies ListEntitiesForPolicy ListGroupPolicies ListGroups ListGroupsForUser
ListInstanceProfileTags ListInstanceProfiles ListInstanceProfilesForRole ListMFADeviceTags ListMFADevices
ListOpenIDConnectProviderTags ListOpenIDConnectProviders ListPolicies ListPoliciesGrantingServiceAccess ListPolicyTags
ListPolicyVersions ListRolePolicies ListRoleTags ListRoles ListSAMLProviderTags ListSAMLProviders ListSSHPublicKeys
ListServerCertificateTags ListServerCertificates ListServiceSpecificCredentials ListSigningCertificates ListUserPolicies
ListUserTags ListUsers ListVirtualMFADevices PassRole PutGroupPolicy PutRolePermissionsBoundary PutRolePolicy
PutUserPermissionsBoundary PutUserPolicy RemoveClientIDFromOpenIDConnectProvider RemoveRoleFromInstanceProfile
RemoveUserFromGroup ResetServiceSpecificCredential ResyncMFADevice SetDefaultPolicyVersion
SetSecurityTokenServicePreferences SimulateCustomPolicy SimulatePrincipalPolicy TagInstanceProfile TagMFADevice
TagOpenIDConnectProvider TagPolicy TagRole TagSAMLProvider TagServerCertificate TagUser UntagInstanceProfile
UntagMFADevice UntagOpenIDConnectProvider UntagPolicy UntagRole UntagSAMLProvider UntagServerCertificate UntagUser
UpdateAccessKey UpdateAccountPasswordPolicy UpdateAssumeRolePolicy UpdateGroup UpdateLoginProfile
UpdateOpenIDConnectProviderThumbprint UpdateRole UpdateRoleDescription UpdateSAMLProvider UpdateSSHPublicKey
UpdateServerCertificate UpdateServiceSpecificCredential UpdateSigningCertificate UpdateUser UploadSSHPublicKey
UploadServerCertificate UploadSigningCertificate
"""
_STS = """
AssumeRole AssumeRoleWithSAML AssumeRoleWithWebIdentity AssumeRoot DecodeAuthorizationMessage GetAccessKeyInfo
GetCallerIdentity GetFederationToken GetServiceBearerToken GetSessionToken SetContext SetSourceIdentity TagSession
"""


def _named(service: str, names: str, level: Level) -> dict[str, Level]:
    return {f"{service}:{name}": level for name in names.split()}


S3_ACTIONS: Mapping[str, Level] = {
    **_named("s3", _BUCKET, "bucket"),
    **_named("s3", _OBJECT, "object"),
    **_named("s3", _ACCOUNT, "account"),
    **_named("s3", _POINT, "point"),
    **_named("s3", _OTHER, "other"),
}
IAM_ACTIONS: Mapping[str, Level] = _named("iam", _IAM, "account")
STS_ACTIONS: Mapping[str, Level] = _named("sts", _STS, "account")
_LOWER: Mapping[str, Level] = {
    name.lower(): level for names in (S3_ACTIONS, IAM_ACTIONS, STS_ACTIONS) for name, level in names.items()
}


def known_action(name: str) -> bool:
    """Is it an action of S3, IAM or STS, or a pattern ("s3:Get*", "*") that covers at least one?"""
    return bool(levels(name))


def levels(name: str) -> frozenset[Level]:
    """What the actions that a name or pattern covers act on; empty when it covers none."""
    return frozenset(covered(name).values())


def covered(name: str) -> Mapping[str, Level]:
    """The actions (lower case) that a name or pattern covers, with what each acts on."""
    folded = name.lower()
    if "*" not in folded and "?" not in folded:
        return {folded: _LOWER[folded]} if folded in _LOWER else {}
    covers = glob(folded)
    return {known: level for known, level in _LOWER.items() if covers(known)}
