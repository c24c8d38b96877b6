# Permitted connections. Nothing is open to the world. Security groups do not apply to DNS, time and instance metadata.

resource "aws_security_group" "fleet" {
  name        = "${var.name}-fleet"
  description = "Ray, reports and table entries between the machines of the fleet"
  vpc_id      = local.vpc_id
  tags        = merge(local.tags, { Name = "${var.name}-fleet" })
}

resource "aws_vpc_security_group_ingress_rule" "fleet" {
  for_each                     = local.fleet_ports
  security_group_id            = aws_security_group.fleet.id
  description                  = "${each.key} inside the fleet"
  referenced_security_group_id = aws_security_group.fleet.id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  tags                         = local.tags
}

resource "aws_vpc_security_group_egress_rule" "fleet" {
  for_each                     = local.fleet_ports
  security_group_id            = aws_security_group.fleet.id
  description                  = "${each.key} inside the fleet"
  referenced_security_group_id = aws_security_group.fleet.id
  ip_protocol                  = "tcp"
  from_port                    = each.value.from
  to_port                      = each.value.to
  tags                         = local.tags
}

resource "aws_security_group" "head" {
  name        = "${var.name}-head"
  description = "What the head may reach: the tournament server, AWS"
  vpc_id      = local.vpc_id
  tags        = merge(local.tags, { Name = "${var.name}-head" })
}

resource "aws_vpc_security_group_egress_rule" "head" {
  for_each          = { https = 443, csa = var.csa_port }
  security_group_id = aws_security_group.head.id
  description       = each.key
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  tags              = local.tags
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each          = var.ssh == null ? toset([]) : toset(var.ssh.cidrs)
  security_group_id = aws_security_group.head.id
  description       = "SSH to the head from ${each.value}"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  tags              = local.tags
}

resource "aws_security_group" "workers" {
  name        = "${var.name}-workers"
  description = "What a worker may reach beside the fleet: S3 and SSM"
  vpc_id      = local.vpc_id
  tags        = merge(local.tags, { Name = "${var.name}-workers" })
}

resource "aws_vpc_security_group_egress_rule" "workers_s3" {
  count             = local.make_network ? 1 : 0
  security_group_id = aws_security_group.workers.id
  description       = "S3 through its gateway endpoint"
  prefix_list_id    = aws_vpc_endpoint.s3[0].prefix_list_id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  tags              = local.tags
}

resource "aws_vpc_security_group_egress_rule" "workers_endpoints" {
  count                        = local.make_network ? 1 : 0
  security_group_id            = aws_security_group.workers.id
  description                  = "SSM through its interface endpoints"
  referenced_security_group_id = aws_security_group.endpoints[0].id
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  tags                         = local.tags
}

# In an existing network we cannot know the addresses of S3 and SSM.
resource "aws_vpc_security_group_egress_rule" "workers_https" {
  count             = local.make_network ? 0 : 1
  security_group_id = aws_security_group.workers.id
  description       = "S3 and SSM, by the ways of the existing network"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  tags              = local.tags
}

resource "aws_security_group" "endpoints" {
  count       = local.make_network ? 1 : 0
  name        = "${var.name}-endpoints"
  description = "SSM's interface endpoints"
  vpc_id      = local.vpc_id
  tags        = merge(local.tags, { Name = "${var.name}-endpoints" })
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  count                        = local.make_network ? 1 : 0
  security_group_id            = aws_security_group.endpoints[0].id
  description                  = "The machines of the fleet"
  referenced_security_group_id = aws_security_group.fleet.id
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
  tags                         = local.tags
}
