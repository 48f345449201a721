"""Which operations of S3 Control does Atoll answer?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from atoll.domain.call import Answer
from atoll.services.s3control import op_blocks, op_points, op_policy, op_requests, op_routes

OPERATIONS: Mapping[str, Callable[..., Awaitable[Answer]]] = {
    "CreateMultiRegionAccessPoint": op_points.CreateMultiRegionAccessPoint,
    "DeleteMultiRegionAccessPoint": op_points.DeleteMultiRegionAccessPoint,
    "DeletePublicAccessBlock": op_blocks.DeletePublicAccessBlock,
    "DescribeMultiRegionAccessPointOperation": op_requests.DescribeMultiRegionAccessPointOperation,
    "GetMultiRegionAccessPoint": op_points.GetMultiRegionAccessPoint,
    "GetMultiRegionAccessPointPolicy": op_policy.GetMultiRegionAccessPointPolicy,
    "GetMultiRegionAccessPointPolicyStatus": op_policy.GetMultiRegionAccessPointPolicyStatus,
    "GetMultiRegionAccessPointRoutes": op_routes.GetMultiRegionAccessPointRoutes,
    "GetPublicAccessBlock": op_blocks.GetPublicAccessBlock,
    "ListMultiRegionAccessPoints": op_points.ListMultiRegionAccessPoints,
    "PutMultiRegionAccessPointPolicy": op_policy.PutMultiRegionAccessPointPolicy,
    "PutPublicAccessBlock": op_blocks.PutPublicAccessBlock,
    "SubmitMultiRegionAccessPointRoutes": op_routes.SubmitMultiRegionAccessPointRoutes,
}
