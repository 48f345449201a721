"""The operations of S3 Control that Atoll answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from atoll.domain.api_call import OperationOutput
from atoll.services.s3control import (
    op_access_point_policy,
    op_access_points,
    op_account_public_access_block,
    op_async_requests,
    op_routes,
)

OPERATIONS: Mapping[str, Callable[..., Awaitable[OperationOutput]]] = {
    "CreateMultiRegionAccessPoint": op_access_points.CreateMultiRegionAccessPoint,
    "DeleteMultiRegionAccessPoint": op_access_points.DeleteMultiRegionAccessPoint,
    "DeletePublicAccessBlock": op_account_public_access_block.DeletePublicAccessBlock,
    "DescribeMultiRegionAccessPointOperation": op_async_requests.DescribeMultiRegionAccessPointOperation,
    "GetMultiRegionAccessPoint": op_access_points.GetMultiRegionAccessPoint,
    "GetMultiRegionAccessPointPolicy": op_access_point_policy.GetMultiRegionAccessPointPolicy,
    "GetMultiRegionAccessPointPolicyStatus": op_access_point_policy.GetMultiRegionAccessPointPolicyStatus,
    "GetMultiRegionAccessPointRoutes": op_routes.GetMultiRegionAccessPointRoutes,
    "GetPublicAccessBlock": op_account_public_access_block.GetPublicAccessBlock,
    "ListMultiRegionAccessPoints": op_access_points.ListMultiRegionAccessPoints,
    "PutMultiRegionAccessPointPolicy": op_access_point_policy.PutMultiRegionAccessPointPolicy,
    "PutPublicAccessBlock": op_account_public_access_block.PutPublicAccessBlock,
    "SubmitMultiRegionAccessPointRoutes": op_routes.SubmitMultiRegionAccessPointRoutes,
}
