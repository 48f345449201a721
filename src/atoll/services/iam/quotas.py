"""IAM's quotas. Source: IAM user guide, "IAM and STS quotas", defaults."""

from __future__ import annotations

USERS_MAX = 5000
ROLES_MAX = 1000
POLICIES_MAX = 1500
ACCESS_KEYS_MAX = 2  # per user
ATTACHED_MAX = 10  # managed policies per user or role
TAGS_MAX = 50
# Characters of policy documents; white space does not count.
USER_INLINE_MAX_CHARS = 2048  # all inline policies of a user together
ROLE_INLINE_MAX_CHARS = 10_240  # all inline policies of a role together
MANAGED_MAX_CHARS = 6144
TRUST_MAX_CHARS = 2048
