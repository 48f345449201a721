"""The operations of IAM that Atoll answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from atoll.domain.api_call import OperationOutput
from atoll.services.iam import op_access_keys, op_attached_policies, op_inline_policies, op_managed_policies, op_roles, op_users

OPERATIONS: Mapping[str, Callable[..., Awaitable[OperationOutput]]] = {
    "AttachRolePolicy": op_attached_policies.AttachRolePolicy,
    "AttachUserPolicy": op_attached_policies.AttachUserPolicy,
    "CreateAccessKey": op_access_keys.CreateAccessKey,
    "CreatePolicy": op_managed_policies.CreatePolicy,
    "CreateRole": op_roles.CreateRole,
    "CreateUser": op_users.CreateUser,
    "DeleteAccessKey": op_access_keys.DeleteAccessKey,
    "DeletePolicy": op_managed_policies.DeletePolicy,
    "DeleteRole": op_roles.DeleteRole,
    "DeleteRolePermissionsBoundary": op_roles.DeleteRolePermissionsBoundary,
    "DeleteRolePolicy": op_inline_policies.DeleteRolePolicy,
    "DeleteUser": op_users.DeleteUser,
    "DeleteUserPermissionsBoundary": op_users.DeleteUserPermissionsBoundary,
    "DeleteUserPolicy": op_inline_policies.DeleteUserPolicy,
    "DetachRolePolicy": op_attached_policies.DetachRolePolicy,
    "DetachUserPolicy": op_attached_policies.DetachUserPolicy,
    "GetPolicy": op_managed_policies.GetPolicy,
    "GetPolicyVersion": op_managed_policies.GetPolicyVersion,
    "GetRole": op_roles.GetRole,
    "GetRolePolicy": op_inline_policies.GetRolePolicy,
    "GetUser": op_users.GetUser,
    "GetUserPolicy": op_inline_policies.GetUserPolicy,
    "ListAccessKeys": op_access_keys.ListAccessKeys,
    "ListAttachedRolePolicies": op_attached_policies.ListAttachedRolePolicies,
    "ListAttachedUserPolicies": op_attached_policies.ListAttachedUserPolicies,
    "ListPolicies": op_managed_policies.ListPolicies,
    "ListRolePolicies": op_inline_policies.ListRolePolicies,
    "ListRoles": op_roles.ListRoles,
    "ListUserPolicies": op_inline_policies.ListUserPolicies,
    "ListUsers": op_users.ListUsers,
    "PutRolePermissionsBoundary": op_roles.PutRolePermissionsBoundary,
    "PutRolePolicy": op_inline_policies.PutRolePolicy,
    "PutUserPermissionsBoundary": op_users.PutUserPermissionsBoundary,
    "PutUserPolicy": op_inline_policies.PutUserPolicy,
    "UpdateAccessKey": op_access_keys.UpdateAccessKey,
    "UpdateAssumeRolePolicy": op_roles.UpdateAssumeRolePolicy,
}
