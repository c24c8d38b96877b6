# One zone: traffic between zones costs 0.01 US dollars a GB at either end, and a node that shares its table sends 8 MB/s.
# The head has a public address, because it plays on a server in the Internet; nobody can connect to it. The workers have no
# route to the Internet, though the VPC's DNS resolves its names. They reach S3 through a gateway endpoint (free) and SSM
# through interface endpoints, which cost less than a NAT gateway and admit only this bucket and this account.

locals {
  make_network     = var.network == null
  vpc_id           = local.make_network ? aws_vpc.this[0].id : var.network.vpc_id
  head_subnet_id   = local.make_network ? aws_subnet.head[0].id : var.network.head_subnet_id
  worker_subnet_id = local.make_network ? aws_subnet.workers[0].id : var.network.worker_subnet_id

  # In our own network the head's address is fixed, so workers find its replacement.
  head_cidr    = cidrsubnet(var.vpc_cidr, 4, 0)
  workers_cidr = cidrsubnet(var.vpc_cidr, 4, 1)
  head_fixed   = local.make_network ? cidrhost(local.head_cidr, 10) : null
  head_address = local.make_network ? local.head_fixed : aws_instance.head.private_ip
}

resource "aws_vpc" "this" {
  # checkov:skip=CKV2_AWS_11: flow logs cost more than the fleet's own network; nothing can connect from outside, and the games are logged
  count                = local.make_network ? 1 : 0
  cidr_block           = var.vpc_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true # for the endpoints' names
  tags                 = merge(local.tags, { Name = var.name })
}

# A machine without a named security group gets this one, which allows nothing.
resource "aws_default_security_group" "none" {
  count   = local.make_network ? 1 : 0
  vpc_id  = aws_vpc.this[0].id
  ingress = []
  egress  = []
  tags    = merge(local.tags, { Name = "${var.name}-none" })
}

resource "aws_subnet" "head" {
  count                   = local.make_network ? 1 : 0
  vpc_id                  = local.vpc_id
  cidr_block              = local.head_cidr
  availability_zone       = local.zone
  map_public_ip_on_launch = false
  tags                    = merge(local.tags, { Name = "${var.name}-head" })

  lifecycle {
    precondition {
      condition     = var.availability_zone == null ? length(local.zones) > 0 : contains(local.zones, var.availability_zone)
      error_message = "availability_zone: ${coalesce(var.availability_zone, "no zone")} of ${local.region} does not offer all of ${join(", ", keys(data.aws_ec2_instance_type.this))}; zones that do: ${length(local.zones) > 0 ? join(", ", local.zones) : "none"}."
    }
  }
}

resource "aws_subnet" "workers" {
  count                   = local.make_network ? 1 : 0
  vpc_id                  = local.vpc_id
  cidr_block              = local.workers_cidr
  availability_zone       = local.zone
  map_public_ip_on_launch = false
  tags                    = merge(local.tags, { Name = "${var.name}-workers" })
}

resource "aws_internet_gateway" "this" {
  count  = local.make_network ? 1 : 0
  vpc_id = local.vpc_id
  tags   = merge(local.tags, { Name = var.name })
}

resource "aws_route_table" "head" {
  count  = local.make_network ? 1 : 0
  vpc_id = local.vpc_id
  tags   = merge(local.tags, { Name = "${var.name}-head" })

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this[0].id
  }
}

resource "aws_route_table" "workers" {
  count  = local.make_network ? 1 : 0
  vpc_id = local.vpc_id
  route  = [] # the S3 endpoint adds its own
  tags   = merge(local.tags, { Name = "${var.name}-workers" })
}

resource "aws_route_table_association" "head" {
  count          = local.make_network ? 1 : 0
  subnet_id      = local.head_subnet_id
  route_table_id = aws_route_table.head[0].id
}

resource "aws_route_table_association" "workers" {
  count          = local.make_network ? 1 : 0
  subnet_id      = local.worker_subnet_id
  route_table_id = aws_route_table.workers[0].id
}

resource "aws_vpc_endpoint" "s3" {
  count             = local.make_network ? 1 : 0
  vpc_id            = local.vpc_id
  service_name      = "com.amazonaws.${local.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.head[0].id, aws_route_table.workers[0].id]
  tags              = merge(local.tags, { Name = "${var.name}-s3" })

  # The fleet's bucket and Amazon Linux's packages, and nothing else.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "FleetBucket"
        Effect    = "Allow"
        Principal = "*"
        Action    = ["s3:GetObject", "s3:PutObject", "s3:ListBucket"]
        Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      },
      {
        Sid       = "Packages"
        Effect    = "Allow"
        Principal = "*"
        Action    = "s3:GetObject"
        Resource  = "arn:${local.partition}:s3:::al2023-repos-${local.region}-*/*"
      },
    ]
  })
}

resource "aws_vpc_endpoint" "interface" {
  for_each            = local.make_network ? toset(["ssm", "ssmmessages"]) : toset([])
  vpc_id              = local.vpc_id
  service_name        = "com.amazonaws.${local.region}.${each.value}"
  vpc_endpoint_type   = "Interface"
  subnet_ids          = [local.worker_subnet_id]
  security_group_ids  = [aws_security_group.endpoints[0].id]
  private_dns_enabled = true
  tags                = merge(local.tags, { Name = "${var.name}-${each.value}" })

  # Credentials of another account that are brought to a worker cannot carry data out this way.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OwnAccount"
      Effect    = "Allow"
      Principal = "*"
      Action    = "*"
      Resource  = "*"
      Condition = { StringEquals = { "aws:PrincipalAccount" = local.account } }
    }]
  })
}
