"""Which operations of IAM does Atoll answer?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from atoll.domain.call import Answer
from atoll.services.iam import op_attached, op_inline, op_keys, op_policies, op_roles, op_users

OPERATIONS: Mapping[str, Callable[..., Awaitable[Answer]]] = {
    "AttachRolePolicy": op_attached.AttachRolePolicy,
    "AttachUserPolicy": op_attached.AttachUserPolicy,
    "CreateAccessKey": op_keys.CreateAccessKey,
    "CreatePolicy": op_policies.CreatePolicy,
    "CreateRole": op_roles.CreateRole,
    "CreateUser": op_users.CreateUser,
    "DeleteAccessKey": op_keys.DeleteAccessKey,
    "DeletePolicy": op_policies.DeletePolicy,
    "DeleteRole": op_roles.DeleteRole,
    "DeleteRolePermissionsBoundary": op_roles.DeleteRolePermissionsBoundary,
    "DeleteRolePolicy": op_inline.DeleteRolePolicy,
    "DeleteUser": op_users.DeleteUser,
    "DeleteUserPermissionsBoundary": op_users.DeleteUserPermissionsBoundary,
    "DeleteUserPolicy": op_inline.DeleteUserPolicy,
    "DetachRolePolicy": op_attached.DetachRolePolicy,
    "DetachUserPolicy": op_attached.DetachUserPolicy,
    "GetPolicy": op_policies.GetPolicy,
    "GetPolicyVersion": op_policies.GetPolicyVersion,
    "GetRole": op_roles.GetRole,
    "GetRolePolicy": op_inline.GetRolePolicy,
    "GetUser": op_users.GetUser,
    "GetUserPolicy": op_inline.GetUserPolicy,
    "ListAccessKeys": op_keys.ListAccessKeys,
    "ListAttachedRolePolicies": op_attached.ListAttachedRolePolicies,
    "ListAttachedUserPolicies": op_attached.ListAttachedUserPolicies,
    "ListPolicies": op_policies.ListPolicies,
    "ListRolePolicies": op_inline.ListRolePolicies,
    "ListRoles": op_roles.ListRoles,
    "ListUserPolicies": op_inline.ListUserPolicies,
    "ListUsers": op_users.ListUsers,
    "PutRolePermissionsBoundary": op_roles.PutRolePermissionsBoundary,
    "PutRolePolicy": op_inline.PutRolePolicy,
    "PutUserPermissionsBoundary": op_users.PutUserPermissionsBoundary,
    "PutUserPolicy": op_inline.PutUserPolicy,
    "UpdateAccessKey": op_keys.UpdateAccessKey,
    "UpdateAssumeRolePolicy": op_roles.UpdateAssumeRolePolicy,
}
