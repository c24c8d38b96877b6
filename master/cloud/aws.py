"""Access to AWS: boto3's clients, and their errors as messages that name the remedy.

Credentials, profile and region come from the same places as for AWS's own tools. ``AWS_ENDPOINT_URL`` names another
endpoint for all services, such as a fake AWS for tests.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, Final

_NO_BOTO: Final = "boto3 is missing: pip install 'gougi[fleet]'"
_DENIED: Final = ("UnauthorizedOperation", "AccessDenied", "AccessDeniedException")
_ADVICE: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("ServiceLinkedRoleCreationNotPermitted", "service-linked role for EC2 Spot"),
        "the account has no role for spot machines yet, and these credentials may not make it: somebody who may runs "
        "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com once",
    ),
    (
        (
            *("VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded"),
            *("SpotMaxInstanceCountExceeded", "Max spot instance count exceeded", "current vCPU limit"),
        ),
        "the account's quota of vCPUs is used up: ask for more at Service Quotas > Amazon EC2 > Running On-Demand "
        "(or All) Standard instances, or ask for fewer nodes or smaller instance_types",
    ),
    (
        (
            *("InsufficientInstanceCapacity", "InsufficientHostCapacity", "UnfulfillableCapacity"),
            *(
                "do not have sufficient",
                "no Spot capacity available",
                "capacity-not-available",
                "capacity-oversubscribed",
            ),
        ),
        "AWS has no such machines free there now: name more instance_types or zones, or wait; a group goes on trying",
    ),
    (
        ("is not supported in your requested Availability Zone",),
        "AWS does not have that type in the fleet's zone: name other instance_types, or another availability_zone",
    ),
    (
        ("SpotMaxPriceTooLow", "price-too-low", "lower than the minimum required Spot"),
        "the highest spot price that was set is below the market's: raise it, or name other instance_types",
    ),
    (
        ("ExpiredToken", "RequestExpired", "TokenRefreshRequired", "SSOTokenLoadError", "UnauthorizedSSOTokenError"),
        "the AWS credentials have expired: log in again (aws sso login, or new keys)",
    ),
    (
        ("NoCredentials", "No valid credential sources", "PartialCredentials", "failed to refresh cached credentials"),
        "no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run aws sso login; "
        "gougi fleet plan --offline shows the cost of a fleet without any",
    ),
    (
        ("InvalidClientTokenId", "SignatureDoesNotMatch", "AuthFailure", "UnrecognizedClient", "InvalidAccessKeyId"),
        "AWS does not know these credentials: look at AWS_PROFILE and the keys",
    ),
    (
        (*_DENIED, "is not authorized to perform"),
        "these credentials may not do that: the policy that is needed is in docs/reference/aws.md",
    ),
    (
        ("NoRegion", "You must specify a region"),
        "no region: set [fleet] region or AWS_REGION, such as AWS_REGION=ap-northeast-1",
    ),
    (("OptInRequired", "PendingVerification"), "this account or region is not activated yet: see the AWS console"),
    (("BucketAlreadyExists", "BucketAlreadyOwnedByYou"), "that bucket name is taken: choose another"),
    (
        ("IncorrectInstanceState", "InvalidIPAddress.InUse", "ScalingActivityInProgress"),
        "a machine of the fleet is just starting or ending: run the command again in a minute",
    ),
    (("NoSuchBucket",), "there is no such bucket"),
    (
        ("Saved plan is stale", "Saved plan does not match the given state"),
        "somebody changed the fleet after this plan was made. "
        "Nothing was done; run the command again, and look at the new plan",
    ),
    (
        ("Error acquiring the state lock",),
        "another terraform is changing this fleet: run the command again when it has ended",
    ),
    (("Throttling", "RequestLimitExceeded"), "AWS wants fewer requests: try again in a minute"),
    (
        ("EndpointConnectionError", "ConnectTimeout", "no such host", "dial tcp", "Could not connect"),
        "AWS cannot be reached: look at the network, the region's name and AWS_ENDPOINT_URL",
    ),
)
"""Words in an error's text or code, and the advice; the first match counts. Codes: "Error codes for the Amazon
EC2 API", and those of botocore and the terraform provider. Words without a code come from a group's activities, as
quoted by users (issues of deepracer-on-the-spot, 55; aws-ethereum-miner, 23; determined, 1830)."""


class AwsError(Exception):
    """A call to AWS failed; the text names the remedy."""


class AwsRefusal(AwsError):
    """AWS answered and refused the call. ``code``: the error's code, such as "Throttling"; empty: it has none."""

    code = ""

    @property
    def denied(self) -> bool:
        """Whether the credentials lack the permission, so that a retry is useless."""
        return self.code in _DENIED


def advice(text: str) -> str:
    """Advice about an error of AWS, boto3 or terraform; empty: none is known."""
    return next((what for words, what in _ADVICE if any(word in text for word in words)), "")


def named_region(given: str = "") -> str:
    """The given region, or the one from environment and profile, as in AWS's tools. Uses no network.

    Raises:
        AwsError: there is no region, or boto3 is not installed.
    """
    given = given or os.environ.get("AWS_REGION", "")
    if not given:
        try:
            from botocore.session import Session
        except ImportError as error:
            raise AwsError(_NO_BOTO) from error
        with aws_errors("AWS"):
            given = Session().get_config_variable("region") or ""
    if not given:
        raise AwsError(advice("NoRegion"))
    return given


def client(service: str, region: str | None = None) -> Any:
    """A boto3 client that gives up within half a minute if AWS does not answer.

    There are three attempts, each with 3 s to connect and 6 s of silence, and waits of at most 1 and 2 s in between
    ("standard mode" of botocore's retries).

    Args:
        region: None: found as AWS's tools find it; terraform's variable for it counts too.

    Raises:
        AwsError: boto3 is not installed, or there is no region.
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise AwsError(_NO_BOTO) from error
    config = Config(connect_timeout=3, read_timeout=6, retries={"mode": "standard", "total_max_attempts": 3})
    with aws_errors(service):
        return boto3.client(service, region_name=region or os.environ.get("AWS_REGION"), config=config)


@contextlib.contextmanager
def aws_errors(where: str) -> Iterator[None]:
    """Convert boto3 errors to AwsError (AwsRefusal if AWS answered), in one line that begins with ``where``."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        text = str(error.response.get("Error", {}).get("Message", "")) or str(error)
        refusal = AwsRefusal(_line(where, f"{code}: {text}", advice(f"{code} {text}")))
        refusal.code = code
        raise refusal from error
    except BotoCoreError as error:
        raise AwsError(_line(where, str(error), advice(f"{type(error).__name__} {error}"))) from error


def _line(where: str, what: str, todo: str) -> str:
    words = " ".join(what.split())[:300]
    return f"{where}: {todo} ({words})" if todo else f"{where}: {words}"
